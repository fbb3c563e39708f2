// Workers that are processes of a simulated world, on the leader's machine: the ProcessPool of simulations. They meet
// in a folder of the simulated disk.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "env/simulated/world.h"
#include "run/coordinator/worker_pool.h"
#include "run/membership/folder_address_book.h"

namespace dlhost::tools {

// The takeover after the leader's death, by the first of its workers that notices it. As in real runs, a lock decides,
// and the death of its holder frees it.
struct Succession {
  std::string run;   // the run's folder, once the start of the run is recorded there; empty: no takeover is possible
  int holder = 0;    // process id; 0: the lock was never taken
  bool over = false; // another leader has begun
  std::function<void()> begin_anew;

  bool is_held(const env::simulated::World& world) const { return holder != 0 && world.runs(holder); }
  bool take(const env::simulated::World& world) {
    if (over || is_held(world)) return false;
    holder = world.process();
    return true;
  }
  // Requires: this process holds the lock.
  void take_over() {
    over = true;
    begin_anew();
  }
};

class SimulatedPool final : public run::WorkerPool, private run::Replaceable {
 public:
  // `jobs`: of each worker, the leader's first. `folder`: in which only these workers meet. `processes`: receives the
  // ids of the processes, from seat 1.
  // Requires: `jobs` outlive all workers.
  static Result<std::unique_ptr<run::WorkerPool>> make(env::simulated::World&, run::Session& leader,
                                                       std::span<const config::Job> jobs, const std::string& folder,
                                                       std::shared_ptr<Succession>,
                                                       std::shared_ptr<std::vector<int>> processes);
  ~SimulatedPool() override;

  run::AddressBook& address_book() override { return *address_book_; }
  Status start() override;
  Status bequeath(const std::string& run) override {
    succession_->run = run;
    return {};
  }
  std::vector<run::RunProcess> processes() override;
  std::string fate(std::uint32_t seat) override;
  Replaceable* replaceable() override { return this; }

 private:
  SimulatedPool(env::simulated::World& world, run::Session& leader, std::span<const config::Job> jobs,
                std::string folder, std::shared_ptr<Succession> succession, std::shared_ptr<std::vector<int>> processes)
      : world_(world), leader_(leader), jobs_(jobs), folder_(std::move(folder)), succession_(std::move(succession)),
        processes_(std::move(processes)) {}
  Status look() override;
  bool has_ended(std::uint32_t seat) override;
  Status restart(std::uint32_t seat, std::uint32_t number) override;
  int start(std::uint32_t seat, std::uint32_t joins);

  env::simulated::World& world_;
  run::Session& leader_;
  const std::span<const config::Job> jobs_;
  const std::string folder_;
  const std::shared_ptr<Succession> succession_; // shared with the workers, which may outlive the leader
  std::optional<run::FolderAddressBook> address_book_;
  const std::shared_ptr<std::vector<int>> processes_; // process ids, from seat 1
};

} // namespace dlhost::tools
