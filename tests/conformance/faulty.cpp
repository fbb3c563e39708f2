// Plugins that each break one line of their kind's contract, and are right otherwise. faulty_test.py says which checks
// of the suites have to find it.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include <dlhost/codec.h>
#include <dlhost/consistency.h>
#include <dlhost/plugin.h>
#include <dlhost/sync.h>
#include <dlhost/updater.h>

namespace {

using namespace dlhost;

struct None {};

// Ignores the factor on the gradient.
class Unscaled final : public Updater {
 public:
  static constexpr std::string_view name = "unscaled";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("Gradient descent without gradient_scale."); }
  explicit Unscaled(Options) {}

  Rule rule() const override {
    Rule rule;
    rule.apply.result(rule.apply.input(0) - rule.apply.scalar(rate) * rule.apply.input(1));
    return rule;
  }
};

Status add_floats(std::span<const std::byte> in, float factor, std::span<float> values) {
  if (in.size() != values.size_bytes()) return Status::corrupt("other bytes than values");
  for (std::size_t i = 0; i < values.size(); ++i) {
    float value = 0;
    std::memcpy(&value, in.data() + i * sizeof value, sizeof value);
    values[i] += factor * value;
  }
  return {};
}

std::size_t put_floats(std::span<const float> values, std::span<std::byte> out) {
  std::memcpy(out.data(), values.data(), values.size_bytes());
  return values.size_bytes();
}

// Decodes with a number that is not among the bytes, but in the object that encoded.
class PrivateScale final : public Codec {
 public:
  static constexpr std::string_view name = "private_scale";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("One byte for each element, and a scale that is not sent."); }
  explicit PrivateScale(Options) {}

  Traits traits() const override { return {}; }
  std::size_t bound(const Shape& shape) const override { return static_cast<std::size_t>(shape.count()); }
  Result<std::size_t> encode(const Turn&, const Shape&, std::span<const float> values, State, std::span<std::byte> out,
                             Random&) override {
    scale_ = 0;
    for (const float value : values) scale_ = std::max(scale_, std::abs(value));
    for (std::size_t i = 0; i < values.size(); ++i)
      out[i] = static_cast<std::byte>(scale_ > 0 ? 128 + std::lround(values[i] / scale_ * 127) : 128);
    return values.size();
  }
  Status decode_add(std::span<const std::byte>, const Shape&, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    if (in.size() != values.size()) return Status::corrupt("other bytes than values");
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += factor * scale_ * static_cast<float>(std::to_integer<int>(in[i]) - 128) / 127;
    return {};
  }

 private:
  float scale_ = 0;
};

// Refuses a slice with a number that is not finite, which ends the run before its loss shows that it diverges.
class FiniteOnly final : public Codec {
 public:
  static constexpr std::string_view name = "finite_only";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("The values, if all are finite."); }
  explicit FiniteOnly(Options) {}

  Traits traits() const override { return {}; }
  std::size_t bound(const Shape& shape) const override {
    return static_cast<std::size_t>(shape.count()) * sizeof(float);
  }
  Result<std::size_t> encode(const Turn&, const Shape&, std::span<const float> values, State, std::span<std::byte> out,
                             Random&) override {
    for (const float value : values)
      if (!std::isfinite(value)) return Status::invalid("a number that is not finite");
    return put_floats(values, out);
  }
  Status decode_add(std::span<const std::byte>, const Shape&, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    return add_floats(in, factor, values);
  }
};

// Refuses slices of an odd number of elements.
class EvenOnly final : public Codec {
 public:
  static constexpr std::string_view name = "even_only";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("Pairs of elements."); }
  explicit EvenOnly(Options) {}

  Traits traits() const override { return {}; }
  std::size_t bound(const Shape& shape) const override {
    return static_cast<std::size_t>(shape.count()) * sizeof(float);
  }
  Result<std::size_t> encode(const Turn&, const Shape&, std::span<const float> values, State, std::span<std::byte> out,
                             Random&) override {
    if (values.size() % 2 != 0) return Status::invalid("an element without its other half");
    return put_floats(values, out);
  }
  Status decode_add(std::span<const std::byte>, const Shape&, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    return add_floats(in, factor, values);
  }
};

// Has two rounds, and encodings that cannot be added.
class TwoRounds final : public Codec {
 public:
  static constexpr std::string_view name = "two_rounds";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("An empty round, then the values."); }
  explicit TwoRounds(Options) {}

  Traits traits() const override { return {.rounds = 2}; }
  std::size_t bound(const Shape& shape) const override {
    return static_cast<std::size_t>(shape.count()) * sizeof(float);
  }
  Result<std::size_t> encode(const Turn& turn, const Shape&, std::span<const float> values, State,
                             std::span<std::byte> out, Random&) override {
    return turn.round == 0 ? 0 : put_floats(values, out);
  }
  Status decode_add(std::span<const std::byte>, const Shape&, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    return add_floats(in, factor, values);
  }
};

// Applies each contribution, and answers each get.
class AtOnce : public Consistency {
 public:
  Traits traits() const override {
    return {.readers_overlap = true, .own_words = 1, .staleness = std::numeric_limits<std::uint64_t>::max()};
  }
  WorkerPlan plan(std::uint64_t, Version) const override { return {}; }
  GetVerdict on_get(const SliceState&, std::uint16_t, std::uint16_t, Version) override { return GetVerdict::serve; }
  UpdateVerdict on_update(SliceState&, const Contribution&) override { return {.act = UpdateVerdict::Act::apply}; }
};

// Counts contributions in a member.
class CountsItself final : public AtOnce {
 public:
  static constexpr std::string_view name = "counts_itself";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("Two contributions make a version; counted in the object."); }
  explicit CountsItself(Options) {}

  UpdateVerdict on_update(SliceState&, const Contribution&) override {
    return {.act = ++came_ % 2 == 0 ? UpdateVerdict::Act::combine : UpdateVerdict::Act::hold};
  }
  UpdateVerdict on_member(SliceState& slice) override {
    return {.act = slice.held.empty() ? UpdateVerdict::Act::hold : UpdateVerdict::Act::combine};
  }

 private:
  std::uint64_t came_ = 0;
};

class ChangesWhenAsked final : public AtOnce {
 public:
  static constexpr std::string_view name = "changes_when_asked";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("A get changes the slice's words."); }
  explicit ChangesWhenAsked(Options) {}

  GetVerdict on_get(const SliceState& slice, std::uint16_t, std::uint16_t, Version) override {
    ++slice.own[0];
    return GetVerdict::serve;
  }
};

class Allocates final : public AtOnce {
 public:
  static constexpr std::string_view name = "allocates";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("Allocates memory for each update."); }
  explicit Allocates(Options) {}

  UpdateVerdict on_update(SliceState&, const Contribution& contribution) override {
    steps_.push_back(contribution.who.step);
    return {.act = UpdateVerdict::Act::apply};
  }

 private:
  std::vector<std::uint64_t> steps_;
};

class Restless final : public AtOnce {
 public:
  static constexpr std::string_view name = "restless";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("Workers have values of their own in every other step."); }
  explicit Restless(Options) {}

  WorkerPlan plan(std::uint64_t step, Version) const override { return {.update_locally = step % 2 == 1}; }
};

// The first rank adds up all rows in the order of the ranks, and sends the sum to all.
class ToFirst : public Exchange {
 public:
  ToFirst(const Sync::Ranks& ranks, std::int64_t elements)
      : rank_(ranks.rank), count_(ranks.count), elements_(elements) {}

  void begin(std::vector<SyncStep>& out) override {
    if (rank_ > 0) {
      out.push_back({.act = SyncStep::Act::send, .peer = 0, .count = elements_, .round = 0});
      out.push_back({.act = SyncStep::Act::replace, .peer = 0, .count = elements_, .round = 1});
      return;
    }
    out.push_back({.act = SyncStep::Act::replace, .peer = 0, .count = elements_});
    go_on(out);
  }
  void arrived(std::uint32_t, std::uint32_t round, std::vector<SyncStep>& out) override {
    if (round == 0)
      go_on(out);
    else
      out.push_back({.act = SyncStep::Act::done});
  }

 protected:
  void go_on(std::vector<SyncStep>& out) {
    if (next_ < count_)
      return out.push_back({.act = SyncStep::Act::add, .peer = next_++, .count = elements_, .round = 0});
    for (std::uint32_t peer = 1; peer < count_; ++peer)
      out.push_back({.act = SyncStep::Act::send, .peer = peer, .count = elements_, .round = 1, .made = true});
    out.push_back({.act = SyncStep::Act::done});
    next_ = 1;
  }

  std::uint32_t rank_, count_;
  std::int64_t elements_;
  std::uint32_t next_ = 1; // whose row is added next
};

// The exchange begins where the last one ended, even if that did not end.
class NotReset final : public Sync {
 public:
  static constexpr std::string_view name = "not_reset";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("begin() forgets to start anew."); }
  explicit NotReset(Options) {}

  Traits traits() const override { return {}; }
  std::unique_ptr<Exchange> join(const Ranks& ranks, std::int64_t elements) const override {
    return std::make_unique<ToFirst>(ranks, elements);
  }
};

class KeepsHosts final : public Sync {
 public:
  static constexpr std::string_view name = "keeps_hosts";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("Reads the hosts after join()."); }
  explicit KeepsHosts(Options) {}

  Traits traits() const override { return {}; }
  std::unique_ptr<Exchange> join(const Ranks& ranks, std::int64_t elements) const override {
    return std::make_unique<Reader>(ranks, elements);
  }

 private:
  class Reader final : public ToFirst {
   public:
    Reader(const Ranks& ranks, std::int64_t elements) : ToFirst(ranks, elements), hosts_(ranks.hosts) {}
    void begin(std::vector<SyncStep>& out) override {
      next_ = 1;
      if (hosts_[rank_] < count_) ToFirst::begin(out);
    }

   private:
    std::span<const std::uint32_t> hosts_;
  };
};

// Takes its own row element by element.
class Crumbs final : public Sync {
 public:
  static constexpr std::string_view name = "crumbs";
  using Options = None;
  static Schema schema() { return SchemaOf<Options>("A step for each element."); }
  explicit Crumbs(Options) {}

  Traits traits() const override { return {}; }
  std::unique_ptr<Exchange> join(const Ranks& ranks, std::int64_t elements) const override {
    return std::make_unique<ByElement>(ranks, elements);
  }

 private:
  class ByElement final : public ToFirst {
   public:
    using ToFirst::ToFirst;
    void begin(std::vector<SyncStep>& out) override {
      next_ = 1;
      if (rank_ > 0) return ToFirst::begin(out);
      for (std::int64_t i = 0; i < elements_; ++i)
        out.push_back({.act = SyncStep::Act::replace, .peer = 0, .first = i, .count = 1});
      go_on(out);
    }
  };
};

} // namespace

DLHOST_PLUGIN("1.0", Unscaled, PrivateScale, FiniteOnly, EvenOnly, TwoRounds, CountsItself, ChangesWhenAsked, Allocates,
              Restless, NotReset, KeepsHosts, Crumbs);
