// Proof that the SDK supports elastic averaging (EASGD): workers train their own copies. Every `period` steps each copy
// and the centre move towards each other by `elasticity` of their difference.
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class Elastic final : public Consistency {
 public:
  static constexpr std::string_view name = "elastic_proof";
  struct Options {
    std::int64_t period = 4;
    double elasticity = 0.2;
  };
  static Schema schema() {
    return SchemaOf<Options>("Elastic averaging with a centre.")
        .option("period", &Options::period, "steps between exchanges", at_least(1))
        .option("elasticity", &Options::elasticity, "share of the difference that each side moves", between(0, 1));
  }
  explicit Elastic(Options options) : options_(options) {}

  Traits traits() const override { return {.staleness = ~std::uint64_t{0}}; }

  WorkerPlan plan(std::uint64_t step, Version) const override {
    const bool exchange = step % static_cast<std::uint64_t>(options_.period) == 0;
    return {.pull = exchange,
            .push = exchange,
            .update_locally = true,
            .send_delta = true,
            .delta_factor = static_cast<float>(options_.elasticity)};
  }
  GetVerdict on_get(const SliceState&, std::uint16_t, std::uint16_t, Version) override { return GetVerdict::serve; }
  UpdateVerdict on_update(SliceState&, const Contribution&) override { return {.act = UpdateVerdict::Act::apply}; }

 private:
  Options options_;
};

} // namespace

DLHOST_PLUGIN("1.0", Elastic);
