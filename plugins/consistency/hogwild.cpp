// Hogwild: every contribution is applied in place on arrival; readers may see it half done.
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Hogwild final : public Consistency {
 public:
  static constexpr std::string_view name = "hogwild";
  struct Options {};
  static Schema schema() {
    return SchemaOf<Options>(
        "Lock-free, in place: each contribution is applied when it comes, while others read. A get "
        "may return a param that is half updated; no update is lost.");
  }
  explicit Hogwild(Options) {}

  Traits traits() const override { return {.staleness = ~std::uint64_t{0}}; }
  WorkerPlan plan(std::uint64_t, Version) const override { return {}; }
  GetVerdict on_get(const SliceState&, std::uint16_t, std::uint16_t, Version) override { return GetVerdict::serve; }
  UpdateVerdict on_update(SliceState&, const Contribution&) override {
    return {.act = UpdateVerdict::Act::apply, .in_place = true};
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Hogwild);
