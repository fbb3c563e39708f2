// The published error of each codec.
#include <cmath>
#include <numeric>

#include <dlhost/codec.h>

#include "../../plugin_host.h"

namespace dlhost::test {
namespace {

using Values = std::vector<float>;

Values numbers(std::int64_t count, std::uint32_t seed) {
  Random random({seed, 1}, 0, 0);
  Values made;
  for (std::int64_t i = 0; i < count; ++i) made.push_back(2 * random.uniform() - 1);
  return made;
}

double square(const Values& values) {
  return std::transform_reduce(values.begin(), values.end(), 0.0, std::plus<>(), [](double v) { return v * v; });
}

Values difference(const Values& a, const Values& b) {
  Values made;
  for (std::size_t i = 0; i < a.size(); ++i) made.push_back(a[i] - b[i]);
  return made;
}

// One contributor's exchanges through one codec.
class Line {
 public:
  Line(Host& host, const std::string& type, std::vector<TableEntry> options, Shape shape)
      : codec(make<Codec>(host, type, std::move(options))), shape_(shape), learned_(codec->learns(shape), 0.0F) {
    if (codec->traits().error_feedback) error.resize(static_cast<std::size_t>(shape.count()), 0.0F);
  }

  Values send(const Values& values) {
    std::vector<std::byte> before, last;
    for (std::uint32_t round = 0; round < codec->traits().rounds; ++round) {
      before = std::exchange(last, std::vector<std::byte>(codec->bound(shape_)));
      Random random({11, 2}, turn_++, round);
      const auto size = codec->encode({round, before}, shape_, values, {error, learned_}, last, random);
      EXPECT_TRUE(size.ok()) << size.status().message();
      last.resize(*size);
    }
    bytes = last.size();
    Values got(values.size(), 0.0F);
    const Status status = codec->decode_add(before, shape_, last, 1, got);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(codec->learn(before, shape_, last, {error, learned_}).ok());
    return got;
  }

  std::unique_ptr<Codec> codec;
  Values error;
  std::size_t bytes = 0;

 private:
  Shape shape_;
  Values learned_;
  std::uint32_t turn_ = 0;
};

class CodecTest : public testing::Test {
 protected:
  PluginHost host_;
};

TEST_F(CodecTest, RoundingIsWithinHalfAStep) {
  const Shape shape{4000};
  Values values = numbers(4000, 1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= std::exp2(-static_cast<float>(i % 12));
  for (const auto& [type, bits] : {std::pair("bf16", 8), std::pair("fp16", 11)}) {
    Line line(host_, type, {{"feedback", value(false)}}, shape);
    const Values got = line.send(values);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(std::abs(got[i] - values[i]), std::abs(values[i]) * std::exp2(-bits)) << type << " " << values[i];
  }
}

TEST_F(CodecTest, Fp16KeepsGradientsThatItCouldNotHold) {
  Line line(host_, "fp16", {}, {3});
  const Values tiny{1e-12F, -3e-12F, 2e-13F}, got = line.send(tiny);
  for (std::size_t i = 0; i < tiny.size(); ++i) EXPECT_NEAR(got[i], tiny[i], std::abs(tiny[i]) * 1e-3F);
}

TEST_F(CodecTest, Int8IsWithinAStepOfTheBlocksGreatest) {
  const Values values = numbers(1000, 2);
  Line line(host_, "int8", {{"block", value(100)}}, {1000});
  const Values got = line.send(values);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(std::abs(got[i] - values[i]), 1.0F / 127 + 1e-6F);
  EXPECT_EQ(line.bytes, 1000U + 10 * 4);
}

// Alistarh et al. 2017, lemma 3.1: E |Q(v) - v|^2 <= min(n / s^2, sqrt(n) / s) |v|^2.
TEST_F(CodecTest, DitheringHasTheVarianceOfQsgd) {
  for (const int levels : {1, 4, 16, 64}) {
    constexpr int count = 256;
    const Values values = numbers(count, 3);
    Line line(host_, "dithering", {{"levels", value(levels)}, {"block", value(count)}}, {count});
    double sum = 0;
    constexpr int times = 200;
    for (int turn = 0; turn < times; ++turn) sum += square(difference(line.send(values), values));
    const double bound = std::min(count / (1.0 * levels * levels), std::sqrt(count) / levels) * square(values);
    EXPECT_LE(sum / times, bound) << levels << " levels";
    EXPECT_GT(sum / times, bound / 50) << levels << " levels: too good to be what is published";
  }
}

// Horvath et al. 2019: above the lowest level, natural levels have a relative mean square error of 1/8 at most.
TEST_F(CodecTest, NaturalDitheringLosesAnEighth) {
  const Values values = numbers(512, 4);
  Line line(host_, "dithering",
            {{"levels", value(60)}, {"block", value(512)}, {"norm", value("max")}, {"spacing", value("natural")}},
            {512});
  double sum = 0;
  constexpr int times = 200;
  for (int turn = 0; turn < times; ++turn) sum += square(difference(line.send(values), values));
  EXPECT_LE(sum / times, square(values) / 8 * 1.05);
}

TEST_F(CodecTest, TopKLosesLessThanAnyOtherChoice) {
  const Values values = numbers(1000, 5);
  Line line(host_, "top_k", {{"share", value(0.1)}}, {1000});
  const Values got = line.send(values);
  EXPECT_EQ(std::ranges::count_if(got, [](float v) { return v != 0; }), 100);
  float least_sent = 1;
  for (const float v : got)
    if (v != 0) least_sent = std::min(least_sent, std::abs(v));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (got[i] == 0) {
      EXPECT_LE(std::abs(values[i]), least_sent);
    }
  // Stich et al. 2018: a k-contraction.
  EXPECT_LE(square(difference(got, values)), 0.9 * square(values));
}

TEST_F(CodecTest, RandomKLosesItsShare) {
  const Values values = numbers(1000, 6);
  constexpr int times = 300;
  double lost = 0;
  Line line(host_, "random_k", {{"share", value(0.1)}}, {1000});
  for (int turn = 0; turn < times; ++turn) {
    std::ranges::fill(line.error, 0.0F);
    lost += square(difference(line.send(values), values));
  }
  // Stich et al. 2018: E |v - C(v)|^2 = (1 - k / n) |v|^2.
  EXPECT_NEAR(lost / times / square(values), 0.9, 0.02);
}

// Seide et al. 2014: the means of the negative and of the other values lose least.
TEST_F(CodecTest, OneBitKeepsBothMeansOfARow) {
  const Values values{1, 2, 3, -4, -6, -1, -2, -3, -4, -5};
  Line line(host_, "one_bit", {}, {2, 5});
  const Values wanted{2, 2, 2, -5, -5, -3, -3, -3, -3, -3};
  EXPECT_EQ(line.send(values), wanted);
  EXPECT_EQ(line.bytes, 2 * 8U + 2);
}

// A matrix of known singular values: after some exchanges, the loss is that of the best matrix of the rank.
TEST_F(CodecTest, PowerSgdFindsTheBestMatrixOfItsRank) {
  constexpr std::int64_t rows = 40, columns = 30;
  Values matrix(rows * columns);
  const double singular[] = {10, 5, 2, 1};
  // Cosines of different frequencies are orthogonal (the discrete cosine transform's vectors).
  const auto vector = [](std::int64_t k, std::int64_t i, std::int64_t n) {
    return std::sqrt(2.0 / static_cast<double>(n)) *
           std::cos(M_PI / static_cast<double>(n) * (static_cast<double>(i) + 0.5) * static_cast<double>(k));
  };
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t k = 0; k < 4; ++k)
        matrix[static_cast<std::size_t>(i * columns + j)] +=
            static_cast<float>(singular[k] * vector(k + 1, i, rows) * vector(k + 1, j, columns));
  Line line(host_, "power_sgd", {{"rank", value(2)}, {"feedback", value(false)}}, {rows, columns});
  double lost = 0;
  for (int turn = 0; turn < 20; ++turn) lost = square(difference(line.send(matrix), matrix));
  EXPECT_NEAR(lost, 2.0 * 2.0 + 1.0 * 1.0, 1e-3);
  EXPECT_EQ(line.bytes, 2U * columns * sizeof(float));
}

TEST_F(CodecTest, PowerSgdSendsVectorsAsTheyAre) {
  const Values values = numbers(50, 7);
  EXPECT_EQ(Line(host_, "power_sgd", {}, {50}).send(values), values);
  EXPECT_EQ(Line(host_, "power_sgd", {}, {25, 2}).send(values), values);
}

// An embedding's gradient, which is zero except for the words of a batch.
TEST_F(CodecTest, RowsAreSentWithTheirNumbers) {
  Values values(1000 * 8, 0.0F);
  for (const std::size_t row : {3, 500, 999}) {
    const Values some = numbers(8, static_cast<std::uint32_t>(row));
    std::copy(some.begin(), some.end(), values.begin() + static_cast<std::ptrdiff_t>(row * 8));
  }
  Line line(host_, "rows", {}, {1000, 8});
  EXPECT_EQ(line.send(values), values);
  EXPECT_EQ(line.bytes, 4U + 3 * (4 + 8 * 4));
  const Values full = numbers(1000 * 8, 9), none(1000 * 8, 0.0F);
  EXPECT_EQ(line.send(full), full);
  EXPECT_EQ(line.bytes, 4U + 1000 * 8 * 4) << "no longer than everything";
  EXPECT_EQ(line.send(none), none);
  EXPECT_EQ(line.bytes, 4U);
}

TEST_F(CodecTest, RowsThatAreNotThereAreCorrupt) {
  const auto codec = make<Codec>(host_, "rows", {});
  const auto told = [&](std::vector<std::uint32_t> words) {
    Values values(6, 0.0F);
    const Status status = codec->decode_add({}, {3, 2}, std::as_bytes(std::span(words)), 1, values);
    return status.message();
  };
  EXPECT_EQ(told({1, 2, 0, 0}), "");
  EXPECT_NE(told({1, 3, 0, 0}).find("row 3 of a matrix of 3"), std::string::npos);
  EXPECT_NE(told({4, 0, 0, 0}).find("4 rows of a matrix of 3"), std::string::npos);
  EXPECT_NE(told({1, 2, 0}).find("an encoding of 12 bytes, but 16 are needed"), std::string::npos);
  EXPECT_NE(told({}).find("an encoding of 0 bytes"), std::string::npos);
}

// A NaN in a gradient must stay NaN, so that the loss of the next step shows it.
TEST_F(CodecTest, WhatIsNoNumberArrivesAsNone) {
  for (const std::string type :
       {"none", "bf16", "fp16", "int8", "one_bit", "rows", "top_k", "dithering", "power_sgd"}) {
    Values values = numbers(120, 8);
    values[70] = std::nanf("");
    const Values got = Line(host_, type, {}, {12, 10}).send(values);
    EXPECT_TRUE(std::ranges::any_of(got, [](float v) { return std::isnan(v); })) << type;
  }
}

} // namespace
} // namespace dlhost::test
