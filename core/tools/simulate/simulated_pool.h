// Workers that are processes of a simulated world, on the leader's machine: the ProcessPool of simulations. They meet
// in a folder of the simulated disk.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/simulated/world.h"
#include "run/coordinator/worker_pool.h"
#include "run/coordinator/worker_process.h"
#include "run/membership/folder_address_book.h"

namespace dlhost::tools {

// The workers of one attempt. It outlives the leader's process.
struct Crew {
  std::vector<config::Job> jobs; // by seat; they differ in the rate of the device
  std::vector<int> processes;    // from seat 1
  bool may_take_over = false;    // the start of the run is recorded
  // What a worker does if the leader `dead` is gone and the run may continue.
  std::function<Status(const std::string& run, int dead, run::Follower*)> outlives;
};

class SimulatedPool final : public run::WorkerPool, private run::Replaceable {
 public:
  // `folder`: in which only these workers meet.
  static Result<std::unique_ptr<run::WorkerPool>> make(env::simulated::World&, run::Session& leader,
                                                       const std::string& folder, std::shared_ptr<Crew>);
  // Takes over a crew, as run::ProcessPool does.
  static Result<std::unique_ptr<run::WorkerPool>> adopt(env::simulated::World&, run::Session& leader,
                                                        const run::GoingOn&, std::shared_ptr<Crew>);
  ~SimulatedPool() override;

  run::AddressBook& address_book() override { return *address_book_; }
  Status start() override;
  Status bequeath(const std::string& run) override;
  std::vector<run::RunProcess> processes() override;
  std::string fate(std::uint32_t seat) override;
  Replaceable* replaceable() override { return this; }
  bool others_go_on() const override { return number_ > 0; }
  std::string meeting() const override { return folder_; }
  void let_go() override { is_let_go_ = true; }

 private:
  SimulatedPool(env::simulated::World& world, run::Session& leader, std::string folder, std::shared_ptr<Crew> crew)
      : world_(world), leader_(leader), folder_(std::move(folder)), crew_(std::move(crew)) {}
  void take_up();
  Status look() override;
  bool has_ended(std::uint32_t seat) override;
  Status restart(std::uint32_t seat, std::uint32_t number) override;
  int start(std::uint32_t seat, std::uint32_t joins);

  env::simulated::World& world_;
  run::Session& leader_;
  const std::string folder_;
  const std::shared_ptr<Crew> crew_;
  std::uint32_t number_ = 0;      // of this process's group (run::Admissions); 0: all begin together
  std::uint32_t first_group_ = 0; // seats of the first server group, if others go on
  bool is_let_go_ = false;
  std::optional<run::FolderAddressBook> address_book_;
};

} // namespace dlhost::tools
