#include "param/exchange/dry_run.h"

namespace dlhost::param {

// A plugin that never comes to an end is told so when it exchanges: here it is left at some point.
std::vector<SyncStep> rehearse(const Sync& sync, const Sync::Ranks& ranks, std::int64_t elements) {
  const std::size_t most = 64 * std::size_t{ranks.count};
  std::vector<SyncStep> done, awaited, told;
  const auto exchange = sync.join(ranks, elements);
  if (!exchange) return done;
  exchange->begin(told);
  for (std::size_t next = 0; done.size() < most; ++next) {
    for (const SyncStep& step : told) {
      const bool arrives = step.act == SyncStep::Act::add || step.act == SyncStep::Act::replace;
      (arrives && step.peer != ranks.rank ? awaited : done).push_back(step);
    }
    if (next == awaited.size()) break;
    const SyncStep step = awaited[next];
    done.push_back(step);
    told.clear();
    exchange->arrived(step.peer, step.round, told);
  }
  return done;
}

} // namespace dlhost::param
