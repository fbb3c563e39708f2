// All workers of a run, seen from its leader, which trains as if it were alone and tells the others what to do.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "run/coordinator/worker_pool.h"
#include "run/recovery/replacing.h"
#include "run/session/session.h"
#include "run/worker/worker.h"

namespace dlhost::run {

class Workers {
 public:
  // The leader's session gets its place; its program is not made yet.
  static Result<std::unique_ptr<Workers>> make(Session& leader, const WorkerPool::Maker&);
  // Ends the others' work and waits for them.
  ~Workers();

  // The leader's program is made: the others make theirs.
  Status join();
  // All values are there; so many steps are to be done (0: not known).
  Status begin(const param::StartPoint&, std::uint64_t until);
  // Should this process die, the others may go on with the run in that folder.
  Status bequeath(const std::string& run) { return pool_->bequeath(run); }
  std::vector<RunProcess> processes() { return pool_->processes(); }
  // At once; by any task.
  Status kill(std::uint32_t worker);
  // After settle(): where it could begin once more.
  const param::StartPoint& reached() const { return leader_->reached(); }
  // And how far the servers' ledgers had come.
  const record::LedgerHeads& heads() const { return leader_->heads(); }

  // Server groups that are lost are replaced while the others go on, where that can be.
  void replace_by(Replacing::Terms);

  // Around each step of the leader's.
  Status go(std::uint64_t step, double rate);
  Status gather(std::uint64_t step, std::vector<program::Metric>& metrics);
  std::vector<record::WorkerReport> reports() const { return leader_->reports(); }
  // All updates are made, and nobody computes until the next go().
  Status settle();
  // The leader has made its steps: the others make theirs.
  Status finish(std::uint64_t steps);

  // One of them is gone: the others come to their end, and what outlives all of them is in the store.
  Result<param::StartPoint> salvage();
  // The others' work is over.
  void end();
  // After end(): until they are gone. Not ok: a plugin's fault ended one of them.
  Status part() { return pool_->part(); }
  // What is known of a failure that a message brought, or that of a worker brought about.
  Status explained(Status);
  Worker& leader() { return *leader_; }
  param::Arrivals arrivals() const { return leader_->arrivals(); }
  record::Traffic encoded() const { return leader_->encoded(); }
  record::Traffic factored() const { return leader_->factored(); }

 private:
  explicit Workers(std::unique_ptr<WorkerPool> pool) : pool_(std::move(pool)) {}

  Status or_who_died(Status);

  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Worker> leader_;
  std::optional<Replacing> replacing_;
  bool begun_ = false;
  bool settled_ = true;     // nobody computes
  std::uint64_t until_ = 0; // steps of all
};

} // namespace dlhost::run
