// Plugins with faults that were put in on purpose: strict but for one thing, a codec that is none but for one thing.
// The test of simulation shows that each of them is caught, and by what.
#include <algorithm>
#include <cstring>

#include <dlhost/codec.h>
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

enum class HandlerFault { none, serves_early, never_serves, misses_one, makes_it_alone, counts_twice, counts_half };

class FaultyHandler final : public Consistency {
 public:
  static constexpr std::string_view name = "faulty";
  struct Options {
    HandlerFault fault = HandlerFault::none;
  };
  static Schema schema() {
    return SchemaOf<Options>("Strict, but for a fault.")
        .choice("fault", &Options::fault,
                {{"none", HandlerFault::none},
                 {"serves_early", HandlerFault::serves_early},
                 {"never_serves", HandlerFault::never_serves},
                 {"misses_one", HandlerFault::misses_one},
                 {"makes_it_alone", HandlerFault::makes_it_alone},
                 {"counts_twice", HandlerFault::counts_twice},
                 {"counts_half", HandlerFault::counts_half}},
                "which");
  }
  explicit FaultyHandler(Options options) : fault_(options.fault) {}

  Traits traits() const override { return {.joint = true}; }
  WorkerPlan plan(std::uint64_t step, Version) const override { return {.at_least = step}; }
  GetVerdict on_get(const SliceState& slice, std::uint16_t, std::uint16_t, Version at_least) override {
    const bool later = fault_ == HandlerFault::never_serves && at_least > 9;
    const bool early = fault_ == HandlerFault::serves_early && at_least > 9;
    return (slice.version >= at_least || early) && !later ? GetVerdict::serve : GetVerdict::wait;
  }
  UpdateVerdict on_update(SliceState& slice, const Contribution& contribution) override {
    const bool now = contribution.who.step == 9;
    const std::size_t here = slice.held.size() + 1;
    if (now && fault_ == HandlerFault::misses_one) { // the last of them is told to be in
      if (here == slice.contributors) return {.act = UpdateVerdict::Act::drop};
      return verdict(here + 1 == slice.contributors);
    }
    if (now && fault_ == HandlerFault::makes_it_alone)
      return {.act = slice.version == contribution.who.step ? UpdateVerdict::Act::apply : UpdateVerdict::Act::drop};
    UpdateVerdict all = verdict(here >= slice.contributors);
    if (now && fault_ == HandlerFault::counts_twice) all.weight = 2;
    if (now && fault_ == HandlerFault::counts_half) all.weight = 0.5F;
    return all;
  }
  UpdateVerdict on_member(SliceState& slice) override {
    return verdict(!slice.held.empty() && slice.held.size() >= slice.contributors);
  }

 private:
  static UpdateVerdict verdict(bool all) {
    return {.act = all ? UpdateVerdict::Act::combine : UpdateVerdict::Act::hold};
  }
  HandlerFault fault_;
};

enum class CodecFault { none, leaves_one_out, keeps_what_it_sent, wrong_length, wrong_place };

class FaultyCodec final : public Codec {
 public:
  static constexpr std::string_view name = "faulty";
  struct Options {
    CodecFault fault = CodecFault::none;
  };
  static Schema schema() {
    return SchemaOf<Options>("Contributions as they are, but for a fault.")
        .choice("fault", &Options::fault,
                {{"none", CodecFault::none},
                 {"leaves_one_out", CodecFault::leaves_one_out},
                 {"keeps_what_it_sent", CodecFault::keeps_what_it_sent},
                 {"wrong_length", CodecFault::wrong_length},
                 {"wrong_place", CodecFault::wrong_place}},
                "which");
  }
  explicit FaultyCodec(Options options) : fault_(options.fault) {}

  Traits traits() const override { return {.error_feedback = true}; }
  std::size_t bound(const Shape& shape) const override {
    return static_cast<std::size_t>(shape.count()) * sizeof(float);
  }
  Result<std::size_t> encode(const Turn&, const Shape& shape, std::span<const float> values, State state,
                             std::span<std::byte> out, Random&) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float value = values[i] + state.error[i];
      const bool out_of_it = fault_ == CodecFault::leaves_one_out && i == 3;
      const float sent = out_of_it ? 0 : value;
      std::memcpy(out.data() + i * sizeof sent, &sent, sizeof sent);
      state.error[i] = fault_ == CodecFault::keeps_what_it_sent ? value : 0;
    }
    return fault_ == CodecFault::wrong_length ? bound(shape) + 1 : bound(shape);
  }
  Status decode_add(std::span<const std::byte>, const Shape&, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      float value = 0;
      std::memcpy(&value, in.data() + i * sizeof value, sizeof value);
      values[fault_ == CodecFault::wrong_place && i == 0 ? 5 : i] += factor * value;
    }
    return {};
  }

 private:
  CodecFault fault_;
};

} // namespace

DLHOST_PLUGIN("1.0", FaultyHandler, FaultyCodec);
