// Downpour: every contribution is its own update, made on arrival; workers do not wait for each other.
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Eventual final : public Consistency {
 public:
  static constexpr std::string_view name = "eventual";
  struct Options {
    std::int64_t fetch = 1, push = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Downpour: each contribution is applied when it comes. A get returns the newest version, "
                             "whichever contributions it has; no update is lost. If fetch or push is more than 1, a "
                             "worker updates its own values with each gradient: a fetch replaces them, and a push "
                             "brings the sum of the gradients since the last.")
        .option("fetch", &Options::fetch, "steps between two gets of a param", at_least(1))
        .option("push", &Options::push, "steps whose gradients make a contribution", at_least(1));
  }
  explicit Eventual(Options options)
      : fetch_(static_cast<std::uint64_t>(options.fetch)), push_(static_cast<std::uint64_t>(options.push)) {}

  Traits traits() const override { return {.readers_overlap = true, .staleness = ~std::uint64_t{0}}; }
  WorkerPlan plan(std::uint64_t step, Version) const override {
    return {.pull = step % fetch_ == 0, .push = (step + 1) % push_ == 0, .update_locally = fetch_ > 1 || push_ > 1};
  }
  GetVerdict on_get(const SliceState&, std::uint16_t, std::uint16_t, Version) override { return GetVerdict::serve; }
  UpdateVerdict on_update(SliceState&, const Contribution&) override { return {.act = UpdateVerdict::Act::apply}; }

 private:
  std::uint64_t fetch_, push_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Eventual);
