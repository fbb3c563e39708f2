// Plugins with intentional faults: handlers that are strict or bounded except for one fault, a codec that changes
// nothing except for one, a sync that is all_to_all except for one. The test of simulation shows that each is detected,
// and by which check.
#include <algorithm>
#include <cstring>

#include <dlhost/codec.h>
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>
#include <dlhost/sync.h>

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
    if (now && fault_ == HandlerFault::misses_one) { // the last contribution is reported to be in
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

enum class BoundedFault { none, serves_older };

class FaultyBounded final : public Consistency {
 public:
  static constexpr std::string_view name = "faulty_bounded";
  struct Options {
    BoundedFault fault = BoundedFault::none;
  };
  static Schema schema() {
    return SchemaOf<Options>("Bounded, by one step, but for a fault.")
        .choice("fault", &Options::fault, {{"none", BoundedFault::none}, {"serves_older", BoundedFault::serves_older}},
                "which");
  }
  explicit FaultyBounded(Options options) : fault_(options.fault) {}

  Traits traits() const override { return {.readers_overlap = true, .words_each = 1, .staleness = bound}; }
  WorkerPlan plan(std::uint64_t, Version) const override { return {}; }
  GetVerdict on_get(const SliceState& slice, std::uint16_t, std::uint16_t, Version) override {
    const auto [least, most] = std::ranges::minmax(slice.own);
    if (fault_ == BoundedFault::none)
      return slice.own[slice.from] <= least + bound ? GetVerdict::serve : GetVerdict::wait;
    // The last worker waits until others are too far ahead; the others do not wait.
    const bool waits = slice.from + 1 == slice.own.size() && slice.own[slice.from] + 2 * bound >= most;
    return waits ? GetVerdict::wait : GetVerdict::serve;
  }
  UpdateVerdict on_update(SliceState& slice, const Contribution& contribution) override {
    slice.own[slice.from] = contribution.who.step + 1;
    return {.act = UpdateVerdict::Act::apply};
  }

 private:
  static constexpr std::uint64_t bound = 1;
  BoundedFault fault_;
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

enum class SyncFault { none, counts_its_own_twice };

// Each rank sends its progress to all others and adds up theirs. With the fault, only the last rank's own value is
// wrong: the others get the right progress from it.
class FaultyExchange final : public Exchange {
 public:
  FaultyExchange(const Sync::Ranks& ranks, std::int64_t elements, SyncFault fault)
      : rank_(ranks.rank), count_(ranks.count), elements_(elements),
        twice_(fault == SyncFault::counts_its_own_twice && rank_ + 1 == count_) {}

  void begin(std::vector<SyncStep>& out) override {
    for (std::uint32_t peer = 0; peer < count_; ++peer)
      if (peer != rank_) out.push_back({.act = SyncStep::Act::send, .peer = peer, .count = elements_});
    add_from(0, out);
  }
  void arrived(std::uint32_t peer, std::uint32_t, std::vector<SyncStep>& out) override { add_from(peer + 1, out); }

 private:
  void add_from(std::uint32_t peer, std::vector<SyncStep>& out) const {
    for (; peer < count_; ++peer) {
      const auto act = peer == 0 ? SyncStep::Act::replace : SyncStep::Act::add;
      out.push_back({.act = act, .peer = peer, .count = elements_});
      if (peer != rank_) return;
    }
    if (twice_) out.push_back({.act = SyncStep::Act::add, .peer = rank_, .count = elements_});
    out.push_back({.act = SyncStep::Act::done});
  }

  const std::uint32_t rank_, count_;
  const std::int64_t elements_;
  const bool twice_;
};

class FaultySync final : public Sync {
 public:
  static constexpr std::string_view name = "faulty";
  struct Options {
    SyncFault fault = SyncFault::none;
  };
  static Schema schema() {
    return SchemaOf<Options>("What all learned, added up by each for itself, but for a fault.")
        .choice("fault", &Options::fault,
                {{"none", SyncFault::none}, {"counts_its_own_twice", SyncFault::counts_its_own_twice}}, "which");
  }
  explicit FaultySync(Options options) : fault_(options.fault) {}

  Traits traits() const override { return {.averages = false, .every = 5}; }
  std::unique_ptr<Exchange> join(const Ranks& ranks, std::int64_t elements) const override {
    return std::make_unique<FaultyExchange>(ranks, elements, fault_);
  }

 private:
  SyncFault fault_;
};

} // namespace

DLHOST_PLUGIN("1.0", FaultyHandler, FaultyBounded, FaultyCodec, FaultySync);
