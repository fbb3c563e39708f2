// A handler that combines one update of each contributor, for the conformance suite of consistency handlers.
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class Barrier final : public Consistency {
 public:
  static constexpr std::string_view name = "barrier";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Every version is made of one update of each group."); }
  explicit Barrier(Options) {}

  Traits traits() const override { return {.by_step = true}; }
  WorkerPlan plan(std::uint64_t step, Version) const override { return {.at_least = step}; }

  GetVerdict on_get(const SliceState& slice, std::uint16_t, std::uint16_t, Version at_least) override {
    return slice.version >= at_least ? GetVerdict::serve : GetVerdict::wait;
  }
  UpdateVerdict on_update(SliceState& slice, const Contribution&) override {
    if (slice.held.size() + 1 < slice.contributors) return {.act = UpdateVerdict::Act::hold};
    return {.act = UpdateVerdict::Act::combine};
  }
  UpdateVerdict on_member(SliceState& slice) override {
    const bool whole = !slice.held.empty() && slice.held.size() >= slice.contributors;
    return {.act = whole ? UpdateVerdict::Act::combine : UpdateVerdict::Act::hold};
  }
};

} // namespace

DLHOST_PLUGIN("1.0", Barrier);
