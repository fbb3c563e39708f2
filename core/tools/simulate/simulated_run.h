// The processes of a simulated run: its leaders, one after another, their standbys, and the workers. A leader is the
// coordinator of real runs (run/coordinator/coordinator.h); its environment is the world.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "env/simulated/host.h"
#include "env/simulated/processes.h"
#include "run/coordinator/coordinator.h"
#include "tools/simulate/simulated_pool.h"
#include "tools/simulate/simulation.h"

namespace dlhost::tools {

class SimulatedRun {
 public:
  // `paces`: as in SimulationSpec. Requires: the arguments outlive the world's processes.
  SimulatedRun(env::simulated::World&, env::simulated::SimulatedHost&, plugin::Registry&, config::Job,
               std::span<const double> paces, Simulated& result);
  ~SimulatedRun();

  // Errors: the paces do not fit the job.
  Status check_paces() const;
  // Starts the first leader.
  void begin();
  // Starts the run once more, as a person does after its end: it continues if it had come so far.
  void resume();
  // Asks the run to save and end; then it is resumed. No effect if it has no step left.
  void ask_to_end();
  // Asks the run for another arrangement, as `dlhost scale` does.
  void wish(const config::Topology&);
  // The processes that may be killed; none once the summary says how the run ended. Those that can continue the run
  // (the leader, the standby, and the workers once the start is recorded) are among them only if the run survives its
  // leader and there are at least two of them.
  std::vector<int> mortals() const;
  // The run's summary says how it ended.
  bool is_over() const { return is_over_; }
  // The status of the last leader.
  const Status& status() const { return status_; }

 private:
  class Environment;
  struct Leader;

  // Starts a leader; returns its process. `resumes`: as a person does. `handed_over`: the run's lock, of a leader that
  // takes a killed one's place.
  int start(bool resumes, std::optional<int> handed_over);
  Status lead(Leader&, bool resumes, std::optional<int> handed_over);
  void get_standby();
  void stand_by(int leader);
  Status take_over(const std::string& run, int dead, run::Follower* last);
  std::vector<config::Job> jobs_of(const config::Job&) const;
  Status read_ledgers(const config::Job&, const std::string& folder);
  // The folder of the run, as far as it has one.
  std::string folder() const;

  env::simulated::World& world_;
  env::simulated::SimulatedHost& host_;
  env::simulated::SimulatedProcesses processes_;
  plugin::Registry& registry_;
  const config::Job job_; // of the first leader
  const std::span<const double> paces_;
  Simulated& result_;
  Status status_;
  std::deque<Leader> leaders_; // one after another; they outlive their processes
  int leader_ = 0, standby_ = 0;
  int attempts_ = 0;
  bool is_led_ = false;        // the run survives its leader
  bool is_over_ = false;       // its summary says how it ended
  std::shared_ptr<Crew> crew_; // of the newest attempt
};

} // namespace dlhost::tools
