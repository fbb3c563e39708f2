// Codecs: proves the traits on values, and checks that bytes from outside do no harm.
#include <algorithm>
#include <cmath>
#include <utility>

#include <dlhost/codec.h>

#include "device/tests.h"
#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

const Shape shape{12, 25};

std::vector<float> numbers(std::uint64_t seed, const std::string& name) {
  std::vector<float> values;
  for (const double draw : uniform(seed, name, shape.count())) values.push_back(static_cast<float>(2 * draw - 1));
  return values;
}

Values as_values(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// The state that core keeps for one contributor.
struct Kept {
  std::vector<float> error, learned;

  explicit Kept(const Codec& codec)
      : error(codec.traits().error_feedback ? static_cast<std::size_t>(shape.count()) : 0, 0.0F),
        learned(codec.learns(shape), 0.0F) {}
  Codec::State state() { return {error, learned}; }
};

using Bytes = std::vector<std::byte>;

// Encodes one round between guards; throws on errors.
Bytes encoded_round(Codec& codec, const Codec::Turn& turn, const std::vector<float>& values, Kept& kept,
                    std::uint32_t seed) {
  constexpr std::byte guard{0x5c};
  const std::size_t bound = codec.bound(shape);
  Bytes bytes(bound + 64, guard);
  Random random({seed, 3}, 0, turn.round);
  const auto size = codec.encode(turn, shape, values, kept.state(), std::span(bytes).first(bound), random);
  if (!size.ok()) throw std::runtime_error(size.status().message());
  EXPECT_LE(*size, bound);
  for (std::size_t i = bound; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], guard) << "writes beyond its bound";
  bytes.resize(*size);
  return bytes;
}

// The sums of the last two rounds, which decoding needs.
struct Encoding {
  Bytes before, last;
};

// All rounds of an exchange among contributors; all use the same draws, so that encodings can be added.
Encoding exchanged(Codec& codec, const std::vector<std::vector<float>>& values, std::vector<Kept>& kept,
                   std::uint32_t seed) {
  Encoding made;
  for (std::uint32_t round = 0; round < codec.traits().rounds; ++round) {
    made.before = std::exchange(made.last, {});
    for (std::size_t who = 0; who < values.size(); ++who) {
      const Bytes bytes = encoded_round(codec, {round, made.before}, values[who], kept[who], seed);
      if (who == 0)
        made.last = bytes;
      else if (const Status added = codec.add(bytes, made.last); !added.ok())
        throw std::runtime_error(added.message());
    }
  }
  for (auto& one : kept)
    if (const Status learned = codec.learn(made.before, shape, made.last, one.state()); !learned.ok())
      throw std::runtime_error(learned.message());
  return made;
}

Encoding encoded(Codec& codec, const std::vector<float>& values, Kept& kept, std::uint32_t seed) {
  std::vector<Kept> one{std::move(kept)};
  Encoding made = exchanged(codec, {values}, one, seed);
  kept = std::move(one.front());
  return made;
}

std::vector<float> decoded(Codec& codec, const Encoding& encoding, float factor = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()), 0.0F);
  const Status status = codec.decode_add(encoding.before, shape, encoding.last, factor, values);
  if (!status.ok()) throw std::runtime_error(status.message());
  return values;
}

void round_trips(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  const auto values = numbers(context.seed, "values");
  Kept kept(*codec), again(*codec);
  const Encoding encoding = encoded(*codec, values, kept, 1);
  const auto once = decoded(*codec, encoding);
  EXPECT_TRUE(!codec->traits().lossless || once == values) << "lossless, but other values come back";
  auto added = decoded(*codec, encoding, 2);
  ASSERT_TRUE(codec->decode_add(encoding.before, shape, encoding.last, 1, added).ok());
  for (std::size_t i = 0; i < added.size(); ++i)
    ASSERT_NEAR(added[i], 3 * once[i], 1e-5) << "decoding adds, times the factor";
  for (std::size_t i = 0; i < kept.error.size(); ++i)
    ASSERT_NEAR(once[i] + kept.error[i], values[i], 1e-5) << "what is left out is kept for later";
  EXPECT_EQ(encoded(*codec, values, again, 1).last, encoding.last) << "the same draws make other bytes";
}

// The mean over many exchanges of the same values approaches the values: no value is left out for ever.
void feedback_brings_everything(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  if (!codec->traits().error_feedback) GTEST_SKIP() << "has no error feedback";
  const auto values = numbers(context.seed, "values");
  Kept kept(*codec);
  constexpr int times = 4000; // enough for the least likely element of a drawing codec
  Values sum(values.size(), 0.0);
  for (std::uint32_t turn = 0; turn < times; ++turn) {
    const auto got = decoded(*codec, encoded(*codec, values, kept, turn));
    for (std::size_t i = 0; i < got.size(); ++i) sum[i] += static_cast<double>(got[i]);
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(sum[i] + static_cast<double>(kept.error[i]), times * static_cast<double>(values[i]), 1e-4 * times) << i;
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_LT(std::abs(kept.error[i]), 0.5F * times) << "what is left out grows without end";
}

void is_unbiased_where_it_says(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  if (!codec->traits().unbiased) GTEST_SKIP() << "does not say that it is";
  const auto values = numbers(context.seed, "values");
  constexpr int times = 2000;
  Values sum(values.size(), 0.0), squares(values.size(), 0.0), least(values.size(), INFINITY),
      most(values.size(), -INFINITY);
  for (std::uint32_t turn = 0; turn < times; ++turn) {
    Kept kept(*codec);
    const auto got = decoded(*codec, encoded(*codec, values, kept, turn));
    for (std::size_t i = 0; i < got.size(); ++i) {
      sum[i] += static_cast<double>(got[i]);
      squares[i] += static_cast<double>(got[i]) * static_cast<double>(got[i]);
      least[i] = std::min(least[i], static_cast<double>(got[i]));
      most[i] = std::max(most[i], static_cast<double>(got[i]));
    }
  }
  double widest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) widest = std::max(widest, most[i] - least[i]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double mean = sum[i] / times, variance = std::max(0.0, squares[i] / times - mean * mean);
    // An element expected 14 times is missing once in a million runs; its variance is then no bound.
    const double range = most[i] > least[i] ? most[i] - least[i] : widest;
    ASSERT_NEAR(mean, values[i], 6 * std::sqrt(variance / times) + 14 * range / times + 1e-5) << i;
  }
}

// The sum of two contributors' encodings is the encoding of their sum.
void sums_where_it_says(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  if (!codec->traits().sums) GTEST_SKIP() << "does not say that encodings can be added";
  const auto a = numbers(context.seed, "a"), b = numbers(context.seed, "b");
  std::vector<float> both;
  for (std::size_t i = 0; i < a.size(); ++i) both.push_back(a[i] + b[i]);
  std::vector<Kept> two(2, Kept(*codec));
  Kept one(*codec);
  const auto wanted = decoded(*codec, encoded(*codec, both, one, 1));
  expect_near(as_values(decoded(*codec, exchanged(*codec, {a, b}, two, 1))), as_values(wanted), 1e-4,
              "the sum of two encodings");
}

// If an exchange cuts a slice, the parts fit into the memory for the whole.
void parts_take_hardly_more_than_the_whole(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  if (codec->traits().whole_matrix || codec->learns(shape) > 0) GTEST_SKIP() << "needs the whole matrix";
  for (const std::int64_t whole : {2, 3, 64, 1000, 65537})
    for (const std::int64_t part : {std::int64_t{1}, whole / 3 + 1, whole / 2, whole - 1})
      EXPECT_LE(codec->bound({part}) + codec->bound({whole - part}), codec->bound({whole}) + codec->bound({1}))
          << part << " of " << whole;
}

void believes_no_bytes(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  Kept kept(*codec);
  const auto [before, good] = encoded(*codec, numbers(context.seed, "values"), kept, 1);
  Random random({context.seed, 9}, 0, 0);
  for (int turn = 0; turn < 500; ++turn) {
    auto bad = good;
    if (turn % 2 == 0) bad.resize(random.below(static_cast<std::uint32_t>(good.size() + 1)));
    if (turn % 3 == 0) bad.resize(bad.size() + random.below(32), std::byte{7});
    for (int i = 0; i < 8 && !bad.empty(); ++i)
      bad[random.below(static_cast<std::uint32_t>(bad.size()))] = static_cast<std::byte>(random.bits());
    std::vector<float> values(static_cast<std::size_t>(shape.count()) + 2, 42.0F);
    // Damages the encoding or, at times, the previous round's sum.
    const bool earlier = turn % 5 == 0 && codec->traits().rounds > 1;
    codec
        ->decode_add(earlier ? bad : before, shape, earlier ? good : bad, 1,
                     std::span(values).subspan(1, values.size() - 2))
        .ignore("whether these bytes hold together is not the question");
    ASSERT_EQ(values.front(), 42) << "writes in front of the values";
    ASSERT_EQ(values.back(), 42) << "writes behind the values";
  }
  if (!codec->traits().lossless) return;
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  EXPECT_FALSE(codec->decode_add(before, shape, std::span(good).first(good.size() / 2), 1, values).ok())
      << "half of a lossless encoding is not whole";
}

} // namespace

void register_codec_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::codec, name, "round_trips", round_trips);
  add_product_check(context, Kind::codec, name, "feedback_brings_everything", feedback_brings_everything);
  add_product_check(context, Kind::codec, name, "is_unbiased_where_it_says", is_unbiased_where_it_says);
  add_product_check(context, Kind::codec, name, "sums_where_it_says", sums_where_it_says);
  add_product_check(context, Kind::codec, name, "parts_take_hardly_more_than_the_whole",
                    parts_take_hardly_more_than_the_whole);
  add_product_check(context, Kind::codec, name, "believes_no_bytes", believes_no_bytes);
}

} // namespace dlhost::conform
