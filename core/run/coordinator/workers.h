// All workers of a run, for its leader. The leader trains like a single worker, and directs the others by this class.
// Thread: the leader's, except kill().
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "run/coordinator/worker_pool.h"
#include "run/recovery/leadership.h"
#include "run/recovery/rejoining.h"
#include "run/recovery/replacing.h"
#include "run/session/session.h"
#include "run/worker/worker.h"

namespace dlhost::run {

class Workers {
 public:
  // Gives the leader's session its place. Requires: its program is not made yet.
  static Result<std::unique_ptr<Workers>> make(Session& leader, const WorkerPool::Maker&);
  // Ends the others' work and waits for them.
  ~Workers();

  // Called when workers have other processes, while others go on.
  void tell_processes_by(std::function<void()> tell) { tell_processes_ = std::move(tell); }
  // Starts the other workers, which make their programs. Requires: the leader's program is made.
  Status join();
  // Starts training. `until`: the number of steps of the run, 0 if unknown. Requires: the values are in the store, but
  // if others go on.
  Status begin(param::StartPoint, std::uint64_t until);
  // Other server groups go on, and this one begins among them: after join(), the point where it begins. Null: all
  // begin.
  const param::StartPoint* left() const { return rejoining_ ? &rejoining_->left() : nullptr; }
  // After an error: whether other server groups go on, so that the first one can begin anew among them.
  bool others_go_on();
  // Those that go on if this process dies, or leaves them to another attempt. Empty meeting: none do, as long as
  // training has not begun.
  GoingOn going_on();
  // Leaves the other workers to another attempt. Nothing but the destructor is called after that.
  void let_go();
  // If this process dies, the others may continue the run in that folder.
  Status bequeath(const std::string& run) { return pool_->bequeath(run); }
  std::vector<RunProcess> processes() { return pool_->processes(); }
  // Kills a worker at once. Thread: any. Errors: invalid if there is no such worker, or if it is the leader.
  Status kill(std::uint32_t worker);
  // The point from which the run could start again. Requires: after settle().
  const param::StartPoint& reached() const { return leader_->reached(); }
  // The heads of the servers' ledgers at that point.
  const record::LedgerHeads& heads() const { return leader_->heads(); }

  // If the job allows it, server groups that are lost are replaced while the run continues. `why`: this group begins
  // anew among others.
  void replace_by(Replacing::Terms, const std::string& why);

  // go() before each step of the leader, gather() after it.
  Status go(std::uint64_t step, double rate);
  Status gather(std::uint64_t step, std::vector<program::Metric>& metrics);
  std::vector<record::WorkerReport> reports() const { return leader_->reports(); }
  // Waits until all updates are made. No worker computes until the next go().
  Status settle();
  // Waits until the other workers have made their steps too. Requires: the leader has made `steps` steps.
  Status finish(std::uint64_t steps);

  // After a worker's death: stops the other workers, and reads the state that outlived them all into the store.
  // Errors: not_found if no state outlives workers.
  Result<param::StartPoint> salvage();
  // Tells the other workers that the run is over.
  void end();
  // Waits until they have ended. Requires: after end(). Errors: a plugin's fault ended one of them.
  Status part() { return pool_->part(); }
  // The status, and if a worker is gone, how it ended.
  Status explained(Status);
  Worker& leader() { return *leader_; }
  param::Arrivals arrivals() const { return leader_->ends().arrivals(); }
  record::Traffic encoded() const { return leader_->ends().encoded(); }
  record::Traffic factored() const { return leader_->ends().factored(); }

 private:
  explicit Workers(std::unique_ptr<WorkerPool> pool) : pool_(std::move(pool)) {}

  Status or_who_died(Status); // the status, or if it is an error and a worker has died, that

  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Worker> leader_;
  std::function<void()> tell_processes_;
  std::optional<Rejoining> rejoining_; // set if other groups go on as this one begins
  std::optional<Replacing> replacing_;
  bool begun_ = false;
  bool met_ = false;        // all have begun together: until then none can go on without another
  bool settled_ = true;     // no worker computes
  std::uint64_t until_ = 0; // number of steps of the run
};

} // namespace dlhost::run
