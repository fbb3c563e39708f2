// Codecs: what the traits claim is proven on values, and bytes from outside can do no harm.
#include <algorithm>
#include <cmath>

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

// Encodes between guards; throws what goes wrong.
std::vector<std::byte> encoded(const Codec& codec, Codec& maker, const std::vector<float>& values,
                               std::vector<float>& error, std::uint32_t seed) {
  constexpr std::byte guard{0x5c};
  const std::size_t bound = codec.bound(shape);
  std::vector<std::byte> bytes(bound + 64, guard);
  Random random({seed, 3}, 0, 0);
  const auto size = maker.encode(0, shape, values, error, std::span(bytes).first(bound), random);
  if (!size.ok()) throw std::runtime_error(size.status().message());
  EXPECT_LE(*size, bound);
  for (std::size_t i = bound; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], guard) << "writes beyond its bound";
  bytes.resize(*size);
  return bytes;
}

std::vector<float> decoded(const Codec& codec, const std::vector<std::byte>& bytes, float factor = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()), 0.0F);
  const Status status = codec.decode_add(0, shape, bytes, factor, values);
  if (!status.ok()) throw std::runtime_error(status.message());
  return values;
}

std::vector<float> no_error(const Codec& codec) {
  return std::vector<float>(codec.traits().error_feedback ? static_cast<std::size_t>(shape.count()) : 0, 0.0F);
}

void round_trips(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  const auto values = numbers(context.seed, "values");
  auto error = no_error(*codec);
  const auto bytes = encoded(*codec, *codec, values, error, 1);
  const auto once = decoded(*codec, bytes);
  EXPECT_TRUE(!codec->traits().lossless || once == values) << "lossless, but other values come back";
  auto added = decoded(*codec, bytes, 2);
  ASSERT_TRUE(codec->decode_add(0, shape, bytes, 1, added).ok());
  for (std::size_t i = 0; i < added.size(); ++i)
    ASSERT_NEAR(added[i], 3 * once[i], 1e-5) << "decoding adds, times the factor";
  for (std::size_t i = 0; i < error.size(); ++i)
    ASSERT_NEAR(once[i] + error[i], values[i], 1e-5) << "what is left out is kept for later";
  auto again_error = no_error(*codec);
  EXPECT_EQ(encoded(*codec, *codec, values, again_error, 1), bytes) << "the same draws make other bytes";
}

void is_unbiased_where_it_says(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  if (!codec->traits().unbiased || codec->traits().rounds != 1) GTEST_SKIP() << "does not say that it is";
  const auto values = numbers(context.seed, "values");
  constexpr int times = 2000;
  Values sum(values.size(), 0.0), squares(values.size(), 0.0);
  for (std::uint32_t turn = 0; turn < times; ++turn) {
    auto error = no_error(*codec);
    const auto got = decoded(*codec, encoded(*codec, *codec, values, error, turn));
    for (std::size_t i = 0; i < got.size(); ++i) {
      sum[i] += static_cast<double>(got[i]);
      squares[i] += static_cast<double>(got[i]) * static_cast<double>(got[i]);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double mean = sum[i] / times, variance = std::max(0.0, squares[i] / times - mean * mean);
    ASSERT_NEAR(mean, values[i], 6 * std::sqrt(variance / times) + 1e-5) << i;
  }
}

void sums_where_it_says(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  if (!codec->traits().sums || codec->traits().rounds != 1) GTEST_SKIP() << "does not say that encodings can be added";
  auto a_error = no_error(*codec), b_error = no_error(*codec);
  const auto a = encoded(*codec, *codec, numbers(context.seed, "a"), a_error, 1);
  auto b = encoded(*codec, *codec, numbers(context.seed, "b"), b_error, 2);
  auto wanted = decoded(*codec, a);
  ASSERT_TRUE(codec->decode_add(0, shape, b, 1, wanted).ok());
  ASSERT_TRUE(codec->add(a, b).ok());
  expect_near(as_values(decoded(*codec, b)), as_values(wanted), 1e-4, "the sum of two encodings");
}

void believes_no_bytes(const Context& context, const std::string& name) {
  const auto codec = usable<Codec>(context, name);
  auto error = no_error(*codec);
  const auto good = encoded(*codec, *codec, numbers(context.seed, "values"), error, 1);
  Random random({context.seed, 9}, 0, 0);
  for (int turn = 0; turn < 500; ++turn) {
    auto bad = good;
    if (turn % 2 == 0) bad.resize(random.below(static_cast<std::uint32_t>(good.size() + 1)));
    if (turn % 3 == 0) bad.resize(bad.size() + random.below(32), std::byte{7});
    for (int i = 0; i < 8 && !bad.empty(); ++i)
      bad[random.below(static_cast<std::uint32_t>(bad.size()))] = static_cast<std::byte>(random.bits());
    std::vector<float> values(static_cast<std::size_t>(shape.count()) + 2, 42.0F);
    codec->decode_add(0, shape, bad, 1, std::span(values).subspan(1, values.size() - 2))
        .ignore("whether these bytes hold together is not the question");
    ASSERT_EQ(values.front(), 42) << "writes in front of the values";
    ASSERT_EQ(values.back(), 42) << "writes behind the values";
  }
  if (!codec->traits().lossless) return;
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  EXPECT_FALSE(codec->decode_add(0, shape, std::span(good).first(good.size() / 2), 1, values).ok())
      << "half of a lossless encoding is not whole";
}

} // namespace

void register_codec_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::codec, name, "round_trips", round_trips);
  add_product_check(context, Kind::codec, name, "is_unbiased_where_it_says", is_unbiased_where_it_says);
  add_product_check(context, Kind::codec, name, "sums_where_it_says", sums_where_it_says);
  add_product_check(context, Kind::codec, name, "believes_no_bytes", believes_no_bytes);
}

} // namespace dlhost::conform
