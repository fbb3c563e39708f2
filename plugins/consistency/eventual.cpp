// Downpour: every contribution is an update of its own, made when it comes; nobody waits for anybody.
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Eventual final : public Consistency {
 public:
  static constexpr std::string_view name = "eventual";
  struct Options {
    std::int64_t fetch = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Downpour: each contribution is applied when it comes. A get returns the newest version, "
                             "whatever is in it; no update is lost.")
        .option("fetch", &Options::fetch, "steps between two gets of a param", at_least(1));
  }
  explicit Eventual(Options options) : options_(options) {}

  Traits traits() const override { return {.readers_overlap = true, .staleness = ~std::uint64_t{0}}; }
  WorkerPlan plan(std::uint64_t step, Version) const override {
    return {.pull = step % static_cast<std::uint64_t>(options_.fetch) == 0};
  }
  GetVerdict on_get(const SliceState&, std::uint16_t, std::uint16_t, Version) override { return GetVerdict::serve; }
  UpdateVerdict on_update(SliceState&, const Contribution&) override { return {.act = UpdateVerdict::Act::apply}; }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Eventual);
