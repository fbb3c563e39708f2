// Elastic averaging (Zhang, Choromanska, LeCun 2015), asynchronous: the servers hold a centre. Each worker trains its
// own values; every few steps these and the centre move towards each other by a part of their difference.
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Elastic final : public Consistency {
 public:
  static constexpr std::string_view name = "elastic";
  struct Options {
    double alpha = 0.2;
    std::int64_t every = 4;
  };
  static Schema schema() {
    return SchemaOf<Options>(
               "Elastic averaging: workers train values of their own; every few steps a worker moves towards the "
               "centre by a part of the difference, and the centre as far towards the worker. A get returns the newest "
               "centre, whichever contributions it has; no difference is lost. Evaluations use the centre, without the "
               "workers' updates since their last exchanges.")
        .option("alpha", &Options::alpha, "part of the difference by which each moves",
                Bounds{.lowest = 0, .highest = 1, .open_low = true, .open_high = true})
        .option("every", &Options::every, "steps from one exchange of a worker to its next", at_least(1));
  }
  explicit Elastic(Options options)
      : alpha_(static_cast<float>(options.alpha)), every_(static_cast<std::uint64_t>(options.every)) {}

  Traits traits() const override { return {.readers_overlap = true, .staleness = ~std::uint64_t{0}}; }
  WorkerPlan plan(std::uint64_t step, Version) const override {
    const bool exchanges = (step + 1) % every_ == 0;
    return {.pull = exchanges, .push = exchanges, .update_locally = true, .send_delta = true, .delta_factor = alpha_};
  }
  GetVerdict on_get(const SliceState&, std::uint16_t, std::uint16_t, Version) override { return GetVerdict::serve; }
  UpdateVerdict on_update(SliceState&, const Contribution&) override { return {.act = UpdateVerdict::Act::apply}; }

 private:
  float alpha_;
  std::uint64_t every_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Elastic);
