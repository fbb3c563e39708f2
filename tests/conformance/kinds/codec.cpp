// Codecs: proves the traits on values, and checks that bytes from outside do no harm.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <dlhost/codec.h>

#include "device/tests.h"
#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

const Shape shape{12, 25};

std::vector<float> numbers(std::uint64_t seed, const std::string& name, const Shape& of = shape) {
  std::vector<float> values;
  for (const double draw : uniform(seed, name, of.count())) values.push_back(static_cast<float>(2 * draw - 1));
  return values;
}

Values as_values(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// The state that core keeps for one contributor.
struct Kept {
  std::vector<float> error, learned;

  explicit Kept(const Codec& codec, const Shape& of = shape)
      : error(codec.traits().error_feedback ? static_cast<std::size_t>(of.count()) : 0, 0.0F),
        learned(codec.learns(of), 0.0F) {}
  Codec::State state() { return {error, learned}; }
};

using Bytes = std::vector<std::byte>;

// Encodes one round between guards, into bytes without alignment; throws on errors.
Bytes encoded_round(Codec& codec, const Codec::Turn& turn, const std::vector<float>& values, Kept& kept,
                    std::uint32_t seed, const Shape& of = shape) {
  constexpr std::byte guard{0x5c};
  const std::size_t bound = codec.bound(of);
  Bytes bytes(1 + bound + 64, guard);
  const auto room = std::span(bytes).subspan(1, bound);
  Random random({seed, 3}, 0, turn.round);
  const auto size = codec.encode(turn, of, values, kept.state(), room, random);
  if (!size.ok()) throw std::runtime_error(size.status().message());
  if (*size > bound) throw std::runtime_error(concat("reports ", *size, " bytes, beyond its bound of ", bound));
  EXPECT_EQ(bytes.front(), guard) << "writes in front of its bytes";
  for (std::size_t i = 1 + bound; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], guard) << "writes beyond its bound";
  return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*size)};
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

// One contributor's exchange, as core makes it. Each call goes to the next codec, as if processes took turns.
Encoding passed_on(const std::vector<std::unique_ptr<Codec>>& codecs, std::size_t& turn,
                   const std::vector<float>& values, Kept& kept, std::uint32_t seed, const Shape& of) {
  const auto next = [&]() -> Codec& { return *codecs[turn++ % codecs.size()]; };
  Encoding made;
  const std::uint32_t rounds = codecs.front()->traits().rounds;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    made.before = std::exchange(made.last, {});
    made.last = encoded_round(next(), {round, made.before}, values, kept, seed, of);
  }
  if (kept.learned.empty()) return made;
  if (const Status learned = next().learn(made.before, of, made.last, kept.state()); !learned.ok())
    throw std::runtime_error(learned.message());
  return made;
}

std::vector<float> decoded_by(Codec& codec, const Encoding& encoding, const Shape& of) {
  std::vector<float> values(static_cast<std::size_t>(of.count()), 0.0F);
  const Status status = codec.decode_add(encoding.before, of, encoding.last, 1, values);
  if (!status.ok()) throw std::runtime_error(status.message());
  return values;
}

void traits_hold_together(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  const Codec::Traits traits = codec->traits();
  EXPECT_GE(traits.rounds, 1U);
  EXPECT_TRUE(traits.rounds <= 1 || traits.sums) << "several rounds, and encodings that cannot be added";
  const std::size_t bound = codec->bound(shape), learns = codec->learns(shape);
  Kept kept(*codec);
  encoded(*codec, numbers(context.seed, "values"), kept, 1);
  EXPECT_EQ(codec->bound(shape), bound) << "another bound after an exchange";
  EXPECT_EQ(codec->learns(shape), learns) << "other learned values after an exchange";
  EXPECT_EQ(codec->traits().rounds, traits.rounds) << "other traits after an exchange";
}

// A worker encodes several slices in turns. After a death another process goes on, and servers elsewhere decode.
void keeps_nothing_to_itself(const Context& context, const std::string& name) {
  std::vector<std::unique_ptr<Codec>> one, several;
  one.push_back(usable<Codec>(context, name));
  for (int i = 0; i < 3; ++i) several.push_back(usable<Codec>(context, name));
  Kept kept(*one.front()), passed(*one.front());
  std::size_t own_turn = 0, turn = 0;
  for (std::uint32_t exchange = 0; exchange < 4; ++exchange) {
    SCOPED_TRACE(concat("exchange ", exchange));
    const auto values = numbers(context.seed, concat("values", exchange));
    const Encoding made = passed_on(one, own_turn, values, kept, exchange, shape);
    const Encoding same = passed_on(several, turn, values, passed, exchange, shape);
    ASSERT_EQ(made.last, same.last) << "bytes depend on something besides the state that core keeps";
    ASSERT_EQ(kept.error, passed.error) << "the error depends on something besides the state that core keeps";
    ASSERT_EQ(decoded_by(*one.front(), made, shape), decoded_by(*usable<Codec>(context, name), made, shape))
        << "another object decodes other values";
  }
}

// Params of any shape, and parts of slices, down to one element.
void takes_every_shape(const Context& context, const std::string& name) {
  std::vector<std::unique_ptr<Codec>> codecs;
  codecs.push_back(usable<Codec>(context, name));
  Codec& codec = *codecs.front();
  for (const Shape& of : {Shape{1}, Shape{2}, Shape{7}, Shape{1031}, Shape{1, 1}, Shape{9, 1}, Shape{1, 9},
                          Shape{33, 70}, Shape{3, 2, 5, 5}}) {
    SCOPED_TRACE(to_string(of));
    Kept kept(codec, of);
    std::size_t turn = 0;
    for (std::uint32_t exchange = 0; exchange < 2; ++exchange) {
      const auto values = numbers(context.seed, concat("values", exchange), of);
      const std::vector<float> left = kept.error;
      const auto got = decoded_by(codec, passed_on(codecs, turn, values, kept, exchange, of), of);
      if (codec.traits().lossless) {
        ASSERT_EQ(got, values);
      }
      for (std::size_t i = 0; i < kept.error.size(); ++i)
        ASSERT_NEAR(got[i] + kept.error[i], values[i] + left[i], 1e-4) << "what is left out is kept for later";
    }
  }
}

// A diverging run sends such values before its loss shows it.
void survives_every_value(const Context& context, const std::string& name) {
  std::vector<std::unique_ptr<Codec>> codecs;
  codecs.push_back(usable<Codec>(context, name));
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity,
                          std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(), 0.0F}) {
    SCOPED_TRACE(concat("with ", odd));
    for (const bool all : {false, true}) {
      auto values = numbers(context.seed, "values");
      if (all)
        std::ranges::fill(values, odd);
      else
        values[values.size() / 2] = odd;
      Kept kept(*codecs.front());
      std::size_t turn = 0;
      for (std::uint32_t exchange = 0; exchange < 2; ++exchange)
        decoded_by(*codecs.front(), passed_on(codecs, turn, values, kept, exchange, shape), shape);
    }
  }
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
  add_product_check(context, Kind::codec, name, "traits_hold_together", traits_hold_together);
  add_product_check(context, Kind::codec, name, "keeps_nothing_to_itself", keeps_nothing_to_itself);
  add_product_check(context, Kind::codec, name, "takes_every_shape", takes_every_shape);
  add_product_check(context, Kind::codec, name, "survives_every_value", survives_every_value);
  add_product_check(context, Kind::codec, name, "round_trips", round_trips);
  add_product_check(context, Kind::codec, name, "feedback_brings_everything", feedback_brings_everything);
  add_product_check(context, Kind::codec, name, "is_unbiased_where_it_says", is_unbiased_where_it_says);
  add_product_check(context, Kind::codec, name, "sums_where_it_says", sums_where_it_says);
  add_product_check(context, Kind::codec, name, "parts_take_hardly_more_than_the_whole",
                    parts_take_hardly_more_than_the_whole);
  add_product_check(context, Kind::codec, name, "believes_no_bytes", believes_no_bytes);
}

} // namespace dlhost::conform
