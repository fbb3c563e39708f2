// Signs of life: each worker shows its own, and a worker that waits looks for those of the others. The kernel reports
// deaths; this finds workers that are alive and get nowhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/workers_log.h"
#include "run/worker/lost_groups.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class Liveness {
 public:
  Liveness(WorkerEnds& ends, const LostGroups& lost) : ends_(ends), lost_(lost), silences_(ends.layout.map.workers()) {}

  // All have begun.
  void begin();
  // The worker gets on, or looks whether it can. `shows`: workers of other machines may be shown it.
  void beat(bool shows);
  // The worker waits. Ends workers that have shown no life for too long.
  Status watch();
  // Another process is this worker now.
  void forget(std::uint32_t worker) { silences_[worker] = {}; }
  // The worker begins or ends something that may take long without beats.
  void set_away(bool away);
  // Shows workers of other machines the vitals now, not only once in a while.
  void show_at_once();
  // Tells all that this worker is alive if it has waited long: a receiver that missed an earlier message notices that
  // by this one. The longer the wait, the rarer.
  void say_alive(Nanoseconds now);
  // The longest time without a sign of life; 0: no limit.
  Nanoseconds longest_silence() const;
  // The memory of this worker's process, for reports.
  void show_memory();

  // Of each worker.
  std::vector<record::WorkerReport> reports() const;

 private:
  struct Silence {
    std::uint64_t beats = 0; // that the worker had shown when this one looked last
    Nanoseconds lasts = 0;
    bool told = false;
  };
  Awaited awaited() const;
  std::string awaited_by(std::uint32_t worker) const;
  bool hangs(std::uint32_t worker, Nanoseconds limit);
  void end_hanging(std::uint32_t worker);
  void show_vitals();
  std::uint64_t staleness_of(std::uint32_t worker) const;
  bool makes_versions(std::uint32_t worker) const;
  std::uint64_t steps() const { return ends_.steps.done[ends_.number]; }

  WorkerEnds& ends_;
  const LostGroups& lost_;
  std::vector<Silence> silences_;
  std::vector<std::optional<record::Freight>> each_step_; // foreseen, of each worker
  Nanoseconds looked_ = 0, showed_ = 0;
  Nanoseconds begun_at_ = 0, step_at_ = 0; // when all had begun, and when the newest step was seen
  std::uint64_t steps_seen_ = 0;
  std::uint64_t alive_at_ = ~std::uint64_t{0};   // steps at the last say_alive()
  Nanoseconds says_alive_ = 0, alive_pause_ = 0; // when it speaks again, and how long after the last time
};

} // namespace dlhost::run
