// Bulk synchronous: every update is the sum of one contribution from each worker, and every get waits for the version
// it asks for. All workers together make the same steps as one worker.
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Strict final : public Consistency {
 public:
  static constexpr std::string_view name = "strict";
  struct Options {};
  static Schema schema() {
    return SchemaOf<Options>("Bulk synchronous: all workers together make the steps of one. A get returns exactly the "
                             "version that the step needs; no update is lost.");
  }
  explicit Strict(Options) {}

  Traits traits() const override { return {.joint = true}; }
  WorkerPlan plan(std::uint64_t step, Version) const override { return {.at_least = step}; }

  GetVerdict on_get(const SliceState& slice, std::uint16_t, std::uint16_t, Version at_least) override {
    return slice.version >= at_least ? GetVerdict::serve : GetVerdict::wait;
  }
  UpdateVerdict on_update(SliceState& slice, const Contribution&) override {
    return verdict(slice.held.size() + 1 >= slice.contributors);
  }
  UpdateVerdict on_member(SliceState& slice) override {
    return verdict(!slice.held.empty() && slice.held.size() >= slice.contributors);
  }

 private:
  static UpdateVerdict verdict(bool all) {
    return {.act = all ? UpdateVerdict::Act::combine : UpdateVerdict::Act::hold};
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Strict);
