#include <algorithm>
#include <cmath>
#include <numeric>

#include <dlhost/parts.h>

#include "../../plugin_host.h"

namespace dlhost::test {
namespace {

const Initializer::Target target{.shape = {200, 300}, .fan_in = 300, .fan_out = 200};

struct Spread {
  double mean = 0, variance = 0, least = 0, greatest = 0;
};

Spread spread_of(const std::vector<float>& values) {
  Spread spread;
  const auto count = static_cast<double>(values.size());
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  for (const double value : values) spread.variance += (value - spread.mean) * (value - spread.mean) / count;
  const auto [least, greatest] = std::ranges::minmax(values);
  spread.least = least;
  spread.greatest = greatest;
  return spread;
}

class InitializerTest : public testing::Test {
 protected:
  std::vector<float> fill(const std::string& type, std::vector<TableEntry> options = {},
                          const Initializer::Target& of = target, std::uint64_t seed = 7) {
    std::vector<float> values(static_cast<std::size_t>(of.shape.count()));
    Random random({seed, 3}, 0, 0);
    const Status status = make<Initializer>(host_, type, std::move(options))->fill(values, of, random);
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }

  PluginHost host_;
};

TEST_F(InitializerTest, Constant) {
  const Spread spread = spread_of(fill("constant", {{"value", value(0.25)}}));
  EXPECT_EQ(spread.least, 0.25);
  EXPECT_EQ(spread.greatest, 0.25);
}

TEST_F(InitializerTest, Uniform) {
  const Spread spread = spread_of(fill("uniform", {{"low", value(-1)}, {"high", value(3)}}));
  EXPECT_GE(spread.least, -1);
  EXPECT_LT(spread.greatest, 3);
  EXPECT_NEAR(spread.mean, 1, 0.02);
  EXPECT_NEAR(spread.variance, 16.0 / 12, 0.03);
}

TEST_F(InitializerTest, Gaussian) {
  const Spread spread = spread_of(fill("gaussian", {{"mean", value(1)}, {"deviation", value(0.5)}}));
  EXPECT_NEAR(spread.mean, 1, 0.01);
  EXPECT_NEAR(spread.variance, 0.25, 0.01);
  EXPECT_GT(spread.greatest, 1 + 3 * 0.5);
}

TEST_F(InitializerTest, TruncatedGaussianKeepsItsBound) {
  const Spread spread = spread_of(fill("truncated_gaussian", {{"deviation", value(0.5)}, {"bound", value(1)}}));
  EXPECT_GE(spread.least, -0.5);
  EXPECT_LE(spread.greatest, 0.5);
  EXPECT_NEAR(spread.variance, 0.25 * 0.2912, 0.005); // the variance of a normal distribution cut at one deviation
}

TEST_F(InitializerTest, XavierAndMsraScaleByTheFan) {
  EXPECT_NEAR(spread_of(fill("xavier")).variance, 1.0 / 250, 1e-4);
  EXPECT_LE(spread_of(fill("xavier")).greatest, std::sqrt(3.0 / 250));
  EXPECT_NEAR(spread_of(fill("xavier", {{"fan", value("out")}, {"distribution", value("gaussian")}})).variance,
              1.0 / 200, 2e-4);
  EXPECT_NEAR(spread_of(fill("msra")).variance, 2.0 / 300, 2e-4);
  EXPECT_NEAR(spread_of(fill("msra", {{"slope", value(1)}})).variance, 1.0 / 300, 1e-4);
}

TEST_F(InitializerTest, WhatHasNoFanIsToldSo) {
  std::vector<float> values(4);
  Random random({1, 1}, 0, 0);
  const Status status = make<Initializer>(host_, "xavier")->fill(values, {.shape = {4}}, random);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("constant"), std::string::npos) << status.message();
}

TEST_F(InitializerTest, OrthogonalRowsOrColumns) {
  for (const Shape& shape : {Shape{5, 3, 4}, Shape{12, 5}}) {
    const auto values = fill("orthogonal", {{"gain", value(2)}}, {.shape = shape});
    const auto rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape.past(1));
    const bool wide = rows <= columns;
    const std::size_t count = std::min(rows, columns), length = std::max(rows, columns);
    const auto at = [&](std::size_t vector, std::size_t i) {
      return static_cast<double>(wide ? values[vector * columns + i] : values[i * columns + vector]);
    };
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        double product = 0;
        for (std::size_t i = 0; i < length; ++i) product += at(a, i) * at(b, i);
        EXPECT_NEAR(product, a == b ? 4 : 0, 1e-5) << a << ", " << b;
      }
  }
}

TEST_F(InitializerTest, OneSeedGivesTheSameValues) {
  for (const std::string type : {"uniform", "gaussian", "truncated_gaussian", "xavier", "msra", "orthogonal"}) {
    const Initializer::Target small{.shape = {4, 6}, .fan_in = 6, .fan_out = 4};
    EXPECT_EQ(fill(type, {}, small, 1), fill(type, {}, small, 1)) << type;
    EXPECT_NE(fill(type, {}, small, 1), fill(type, {}, small, 2)) << type;
  }
}

} // namespace
} // namespace dlhost::test
