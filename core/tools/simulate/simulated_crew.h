// Workers that are processes of a simulated world, on the leader's machine: what ProcessCrew has, without an operating
// system beneath. They meet in a folder of the simulated disk.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "env/simulated/world.h"
#include "run/coordinator/crew.h"
#include "run/membership/folder_roster.h"

namespace dlhost::tools {

// Who leads when the leader is gone: the first of its workers that notices, where it may.
struct Succession {
  std::string run; // its folder, when it is written down there how it began
  bool taken = false;
  std::function<void()> take_over;
};

class SimulatedCrew final : public run::Crew {
 public:
  // `jobs`: each worker's, the leader's first; they outlive all of them. `folder`: where they meet, theirs alone.
  static Result<std::unique_ptr<run::Crew>> make(env::simulated::World&, run::Session& leader,
                                                 std::span<const config::Job> jobs, const std::string& folder,
                                                 std::shared_ptr<Succession>);
  ~SimulatedCrew() override;

  run::Roster& roster() override { return *roster_; }
  Status start() override;
  Status bequeath(const std::string& run) override {
    succession_->run = run;
    return {};
  }
  std::vector<run::Located> processes() override;
  std::string fate(std::uint32_t seat) override;

 private:
  SimulatedCrew(env::simulated::World& world, run::Session& leader, std::span<const config::Job> jobs,
                std::string folder, std::shared_ptr<Succession> succession)
      : world_(world), leader_(leader), jobs_(jobs), folder_(std::move(folder)), succession_(std::move(succession)) {}
  Status look() override;

  env::simulated::World& world_;
  run::Session& leader_;
  const std::span<const config::Job> jobs_;
  const std::string folder_;
  const std::shared_ptr<Succession> succession_; // the workers' as well, who may outlive the leader
  std::optional<run::FolderRoster> roster_;
  std::vector<int> processes_; // of seat 1 and on
};

} // namespace dlhost::tools
