// Stale synchronous: every contribution is applied on arrival, but no worker may be more than `bound` steps ahead of
// the slowest.
#include <algorithm>

#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Bounded final : public Consistency {
 public:
  static constexpr std::string_view name = "bounded";
  struct Options {
    std::int64_t bound = 3;
  };
  static Schema schema() {
    return SchemaOf<Options>(
               "Stale synchronous: each contribution is applied when it comes. A get of a worker after n steps has the "
               "contributions of all others in their first n - bound steps; no update is lost.")
        .option("bound", &Options::bound, "steps that a worker may be ahead of the slowest", at_least(0));
  }
  explicit Bounded(Options options) : bound_(static_cast<std::uint64_t>(options.bound)) {}

  // Words: the number of applied steps of each contributor.
  Traits traits() const override { return {.readers_overlap = true, .words_each = 1, .staleness = bound_}; }
  WorkerPlan plan(std::uint64_t, Version) const override { return {}; }

  GetVerdict on_get(const SliceState& slice, std::uint16_t, std::uint16_t, Version) override {
    return slice.own[slice.from] <= std::ranges::min(slice.own) + bound_ ? GetVerdict::serve : GetVerdict::wait;
  }
  UpdateVerdict on_update(SliceState& slice, const Contribution& contribution) override {
    slice.own[slice.from] = contribution.who.step + 1;
    return {.act = UpdateVerdict::Act::apply};
  }

 private:
  std::uint64_t bound_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Bounded);
