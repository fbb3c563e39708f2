// Downpour, but from some step on its plan asks for things that no table does, or it keeps contributions. The test of
// workers states the run's messages.
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

enum class Wants { nothing, no_push, local_updates, deltas, part_of_deltas, time, to_keep };

class Wilful final : public Consistency {
 public:
  static constexpr std::string_view name = "wilful";
  struct Options {
    Wants wants = Wants::nothing;
    std::int64_t from = 0;
  };
  static Schema schema() {
    return SchemaOf<Options>("Downpour that wants more.")
        .choice("wants", &Options::wants,
                {{"nothing", Wants::nothing},
                 {"no_push", Wants::no_push},
                 {"local_updates", Wants::local_updates},
                 {"deltas", Wants::deltas},
                 {"part_of_deltas", Wants::part_of_deltas},
                 {"time", Wants::time},
                 {"to_keep", Wants::to_keep}},
                "what")
        .option("from", &Options::from, "from which step on");
  }
  explicit Wilful(Options options) : options_(options) {}

  Traits traits() const override { return {.readers_overlap = true, .staleness = ~std::uint64_t{0}}; }
  WorkerPlan plan(std::uint64_t step, Version) const override {
    const Wants wants = step < static_cast<std::uint64_t>(options_.from) ? Wants::nothing : options_.wants;
    return {.push = wants != Wants::no_push,
            .update_locally = wants == Wants::local_updates,
            .send_delta = wants == Wants::deltas,
            .delta_factor = wants == Wants::part_of_deltas ? 0.5F : 1.0F};
  }
  GetVerdict on_get(const SliceState&, std::uint16_t, std::uint16_t, Version) override { return GetVerdict::serve; }
  // Kept contributions make no version, and no worker waits for one.
  UpdateVerdict on_update(SliceState&, const Contribution& update) override {
    const bool keeps = options_.wants == Wants::to_keep && update.who.step >= static_cast<std::uint64_t>(options_.from);
    return {.act = keeps ? UpdateVerdict::Act::hold : UpdateVerdict::Act::apply};
  }
  Nanoseconds next_timer(const SliceState&) const override { return options_.wants == Wants::time ? 1'000'000 : 0; }

 private:
  Options options_;
};

} // namespace

DLHOST_PLUGIN("1.0", Wilful);
