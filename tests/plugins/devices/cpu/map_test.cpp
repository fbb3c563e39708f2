// The elementwise kernels on every instruction set that this machine has, against plain loops in double.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlhost/half.h>
#include <dlhost/parallel.h>

#include "formats.h"
#include "map/kernels.h"
#include "map/map.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

class MapKernelsTest : public testing::TestWithParam<std::pair<std::string, MapKernels>> {
 protected:
  const MapKernels& kernels() const { return GetParam().second; }

  std::vector<float> step(Code code, std::vector<float> a, std::vector<float> b = {}, std::vector<float> c = {}) const {
    const auto count = static_cast<std::int64_t>(a.size());
    for (auto* list : {&a, &b, &c}) list->resize(a.size() + widest);
    std::vector<float> out(a.size()); // kernels write whole vectors
    kernels().step(code, {a.data()}, {b.data()}, {c.data()}, out.data(), count);
    out.resize(static_cast<std::size_t>(count));
    return out;
  }
  // Checks the largest error, in units of the last place of the true value.
  void expect_close(Code code, const std::function<double(double)>& truth, float low, float high, double units) const {
    constexpr int count = 64 * 1000;
    std::vector<float> x(count);
    for (int i = 0; i < count; ++i) x[static_cast<std::size_t>(i)] = low + (high - low) * static_cast<float>(i) / count;
    const auto y = step(code, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double right = truth(static_cast<double>(x[i]));
      const double unit = std::max(std::abs(right) * 0x1p-23, 0x1p-149);
      ASSERT_LE(std::abs(static_cast<double>(y[i]) - right), units * unit) << "of " << x[i];
    }
  }
  std::vector<float> ends(Code code) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> x(64, 0.0F);
    x[0] = -infinity, x[1] = infinity, x[2] = std::numeric_limits<float>::quiet_NaN(), x[3] = 0, x[4] = -1;
    auto y = step(code, x);
    y.resize(5);
    return y;
  }
};

INSTANTIATE_TEST_SUITE_P(Each, MapKernelsTest, testing::ValuesIn(all_map_kernels()),
                         [](const auto& tested) { return tested.param.first; });

TEST(MapTargets, ThereIsMoreThanOne) { EXPECT_GE(all_map_kernels().size(), 2U); }

TEST_P(MapKernelsTest, FunctionsAreExactToAFewUnits) {
  expect_close(
      Code::exponential, [](double x) { return std::exp(x); }, -87, 88.5F, 2);
  expect_close(
      Code::exponential, [](double x) { return std::exp(x); }, -1, 1, 2);
  expect_close(
      Code::logarithm, [](double x) { return std::log(x); }, 1e-30F, 1e-3F, 3);
  expect_close(
      Code::logarithm, [](double x) { return std::log(x); }, 1.5F, 1e8F, 3);
  expect_close(
      Code::logarithm1p, [](double x) { return std::log1p(x); }, -0.5F, 0.5F, 4);
  expect_close(
      Code::logarithm1p, [](double x) { return std::log1p(x); }, 1e-9F, 1e-6F, 4);
  expect_close(
      Code::tanh, [](double x) { return std::tanh(x); }, -12, 12, 6);
  expect_close(
      Code::tanh, [](double x) { return std::tanh(x); }, -0.01F, 0.01F, 6);
  expect_close(
      Code::logistic, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80, 4);
  expect_close(
      Code::error_function, [](double x) { return std::erf(x); }, -6, 6, 6);
  expect_close(
      Code::error_function, [](double x) { return std::erf(x); }, -0.01F, 0.01F, 6);
  expect_close(
      Code::square_root, [](double x) { return std::sqrt(x); }, 0, 100, 1);
  for (const auto& [low, high] : {std::pair{1e-30F, 1e-3F}, std::pair{0.5F, 4.0F}, std::pair{5.0F, 1e20F}})
    expect_close(
        Code::minus_three_quarters, [](double x) { return std::pow(x, -0.75); }, low, high, 6);
}

TEST_P(MapKernelsTest, EndsOfTheRange) {
  using testing::ElementsAre;
  using testing::IsNan;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(ends(Code::exponential), ElementsAre(0, infinity, IsNan(), 1, testing::FloatEq(std::exp(-1.0F))));
  EXPECT_THAT(ends(Code::logarithm), ElementsAre(IsNan(), infinity, IsNan(), -infinity, IsNan()));
  EXPECT_THAT(ends(Code::logarithm1p), ElementsAre(IsNan(), infinity, IsNan(), 0, -infinity));
  EXPECT_THAT(ends(Code::tanh), ElementsAre(-1, 1, IsNan(), 0, testing::FloatEq(std::tanh(-1.0F))));
  EXPECT_THAT(ends(Code::logistic), ElementsAre(0, 1, IsNan(), 0.5F, testing::FloatNear(0.26894142F, 1e-7F)));
  EXPECT_THAT(ends(Code::error_function), ElementsAre(-1, 1, IsNan(), 0, testing::FloatEq(std::erf(-1.0F))));
}

// A NaN in either operand passes through: the divergence of a net must show.
TEST_P(MapKernelsTest, WhatIsNotANumberIsHandedOn) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (const Code code : {Code::minimum, Code::maximum}) {
    const auto made = step(code, {none, 1, none, 1, 2}, {0, none, none, 2, 1});
    for (const std::size_t i : {0, 1, 2}) EXPECT_TRUE(std::isnan(made[i])) << i;
    EXPECT_EQ(made[3], code == Code::minimum ? 1 : 2);
    EXPECT_EQ(made[4], code == Code::minimum ? 1 : 2);
  }
}

TEST_P(MapKernelsTest, DrawsAreThoseOfTheSdk) {
  const Draws draws{{0x123456789abcdef0, 77}, 3, 1000};
  for (std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{7}, (std::uint64_t{1} << 34) + 2})
    for (std::int64_t count : {1, 3, 64, 200}) {
      std::vector<float> drawn(static_cast<std::size_t>(count)), right;
      kernels().draw(draws, first, drawn.data(), count);
      for (std::int64_t i = 0; i < count; ++i)
        right.push_back(draw(draws.key, draws.epoch, draws.sample, first + static_cast<std::uint64_t>(i)));
      ASSERT_EQ(drawn, right) << count << " from " << first;
    }
}

TEST_P(MapKernelsTest, RoundsToNearestEven) {
  const std::vector<float> values{1.0F, 1.00390625F, 1.01171875F, -3.3e38F, 1e-40F, 1.0039063F, 70000.0F, -2.5F};
  std::vector<std::uint16_t> stored(values.size());
  kernels().store(DType::bf16, values.data(), stored.data(), static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    EXPECT_EQ(stored[i], static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)) << values[i];
  }
  const float none = std::numeric_limits<float>::quiet_NaN();
  kernels().store(DType::bf16, &none, stored.data(), 1);
  float back = 0;
  kernels().load(DType::bf16, stored.data(), &back, 1);
  EXPECT_TRUE(std::isnan(back));
  std::vector<std::uint8_t> bytes(values.size());
  kernels().store(DType::u8, values.data(), bytes.data(), static_cast<std::int64_t>(values.size()));
  EXPECT_THAT(bytes, testing::ElementsAre(1, 1, 1, 0, 0, 1, 255, 0));
}

// Values of every exponent, and the midpoints between two numbers of f16.
TEST_P(MapKernelsTest, RoundsToF16AsTheSdkDoes) {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 0x8000U; bits += 13) {
    const float value = float_of_f16(static_cast<std::uint16_t>(bits));
    for (const float moved : {value, value * (1 + 0x1p-11F), value * (1 + 0x1p-10F), value * (1 + 0x1p-12F), -value})
      values.push_back(moved);
  }
  for (const float end : {65519.0F, 65520.0F, 1e30F, 0x1p-25F, 0x1.8p-25F, 1e-40F}) values.push_back(end);
  std::vector<std::uint16_t> stored(values.size()), right;
  for (const float value : values) right.push_back(f16_of_float(value));
  kernels().store(DType::f16, values.data(), stored.data(), static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i])) {
      ASSERT_EQ(stored[i], right[i]) << values[i];
    }
  std::vector<float> loaded(values.size());
  kernels().load(DType::f16, stored.data(), loaded.data(), static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i])) {
      ASSERT_EQ(loaded[i], float_of_f16(right[i])) << values[i];
    }
}

TEST_P(MapKernelsTest, LoadsWhatItStored) {
  std::vector<float> values(67), loaded(67);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  for (DType type : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32, DType::i8, DType::u8}) {
    std::vector<std::byte> stored(values.size() * 8 + 1, std::byte{42});
    kernels().store(type, values.data(), stored.data(), 67);
    EXPECT_EQ(stored[67 * size_of(type)], std::byte{42}) << "wrote behind the end of " << name_of(type);
    kernels().load(type, stored.data(), loaded.data(), 67);
    EXPECT_EQ(loaded, values) << name_of(type);
  }
}

// --- Whole ops -------------------------------------------------------------------------------------------------------

class MapOpTest : public MapKernelsTest {
 protected:
  void run(const MapSpec& spec, std::vector<const void*> inputs, std::vector<void*> outputs,
           const Dynamic& dynamic = {}, int threads = 2) {
    set_parallel_threads(threads);
    auto op = make_map(spec, kernels(), threads);
    ASSERT_TRUE(op) << op.status().message();
    std::vector<float> scratch((*op)->scratch_bytes / sizeof(float));
    CpuStream stream;
    (*op)->execute(stream, inputs, outputs, scratch.data(), dynamic);
  }
};

INSTANTIATE_TEST_SUITE_P(Each, MapOpTest, testing::ValuesIn(all_map_kernels()),
                         [](const auto& tested) { return tested.param.first; });

std::vector<float> ramp(std::int64_t count, float start, float step) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = start + step * static_cast<float>(i % 1000);
  return values;
}

TEST_P(MapOpTest, MomentumInPlaceWithACopyInHalfPrecision) {
  MapSpec spec;
  auto& e = spec.expression;
  auto gradient = e.input(1) + 0.5 * e.input(0);
  auto momentum = 0.9 * e.input(2) + gradient;
  auto value = e.input(0) - e.scalar(0) * momentum;
  e.result(value);
  e.result(momentum);
  e.result(value);
  for (std::int64_t count : {1, 5, 512, 513, 40000}) {
    const TensorDesc flat{DType::f32, {count}, {}};
    spec.in = {flat, flat, flat};
    spec.out = {flat, flat, flat.as(DType::bf16)};
    auto v = ramp(count, 1, 0.01F), g = ramp(count, -1, 0.003F), m = ramp(count, 0.5F, -0.001F);
    const auto v0 = v, m0 = m;
    std::vector<std::uint16_t> half(v.size());
    const float rate = 0.1F;
    run(spec, {v.data(), g.data(), m.data()}, {v.data(), m.data(), half.data()}, {.scalars = {&rate, 1}});
    for (std::size_t i = 0; i < v.size(); ++i) {
      const float right_m = 0.9F * m0[i] + g[i] + 0.5F * v0[i], right_v = v0[i] - 0.1F * right_m;
      ASSERT_NEAR(m[i], right_m, 1e-5F) << i << " of " << count;
      ASSERT_NEAR(v[i], right_v, 1e-5F) << i << " of " << count;
      ASSERT_NEAR(std::bit_cast<float>(std::uint32_t{half[i]} << 16), right_v, std::abs(right_v) / 256)
          << i << " of " << count;
    }
  }
}

// Also writes the operand of the next step's products: rows in pairs, in blocks of the same or twice the size, with
// padding that stays zero.
TEST_P(MapOpTest, WritesPairsOfRowsForTheNextProducts) {
  MapSpec spec;
  spec.expression.result(spec.expression.input(0) * 0.5);
  spec.expression.result(spec.expression.input(0) * 0.5);
  spec.keeps_zeros = true;
  for (const DType type : {DType::bf16, DType::f16})
    for (const Shape& shape : {Shape{100, 90}, Shape{130, 784}, Shape{64, 33}})
      for (const auto& [rows, pairs] : {std::pair{"AB16b64a", "AB8b64a2b"}, std::pair{"AB16b64a", "AB16b64a2b"},
                                        std::pair{"AB16b32a", "AB16b32a2b"}}) {
        TensorDesc master{DType::f32, shape, {}}, half{type, shape, {}};
        const auto format = find_format(master, rows), interleaved = find_format(half, pairs);
        if (!interleaved) continue; // a oneDNN without this layout never chooses it
        master.format = *format, half.format = *interleaved;
        const Placement from(master), to(half);
        std::vector<float> x(static_cast<std::size_t>(elements_of(master)));
        for (std::int64_t i = 0; i < shape.count(); ++i) {
          const std::int64_t index[] = {i / shape[1], i % shape[1]};
          x[static_cast<std::size_t>(from.offset(index))] = static_cast<float>(i % 251 + 1);
        }
        std::vector<std::uint16_t> right(static_cast<std::size_t>(elements_of(half))), written(right.size());
        for (std::int64_t i = 0; i < shape.count(); ++i) {
          const std::int64_t index[] = {i / shape[1], i % shape[1]};
          const float value = 0.5F * static_cast<float>(i % 251 + 1);
          right[static_cast<std::size_t>(to.offset(index))] =
              type == DType::bf16 ? bf16_of_float(value) : f16_of_float(value);
        }
        spec.in = {master};
        spec.out = {master, half};
        run(spec, {x.data()}, {x.data(), written.data()});
        EXPECT_EQ(written, right) << name_of(type) << ", " << pairs << " of " << to_string(shape);
      }
}

TEST_P(MapOpTest, PassesInputsOnThoughTheirMemoryIsWritten) {
  MapSpec spec;
  spec.expression.result(spec.expression.input(1));
  spec.expression.result(spec.expression.input(0));
  const TensorDesc flat{DType::f32, {1000}, {}};
  spec.in = spec.out = {flat, flat};
  auto a = ramp(1000, 0, 1), b = ramp(1000, 5000, 1);
  const auto a0 = a, b0 = b;
  run(spec, {a.data(), b.data()}, {a.data(), b.data()});
  EXPECT_EQ(a, b0);
  EXPECT_EQ(b, a0);
}

TEST_P(MapOpTest, SegmentsOfDifferentLengths) {
  MapSpec spec;
  spec.expression.result(spec.expression.input(0) * 2.0);
  const TensorDesc flat{DType::f32, {30000}, {}};
  spec.in = spec.out = {flat};
  spec.segments = {3, 30000, 513};
  auto a = ramp(3, 1, 1), b = ramp(30000, 2, 1), c = ramp(513, 3, 1);
  std::vector<float> x(3), y(30000), z(513);
  run(spec, {a.data(), b.data(), c.data()}, {x.data(), y.data(), z.data()});
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], 2 * b[i]);
  for (std::size_t i = 0; i < z.size(); ++i) ASSERT_EQ(z[i], 2 * c[i]);
  EXPECT_THAT(x, testing::ElementsAre(2, 4, 6));
}

TEST_P(MapOpTest, BroadcastsAndSums) {
  constexpr std::int64_t n = 37, c = 11, s = 19;
  MapSpec spec;
  spec.expression.result(spec.expression.input(0) * spec.expression.input(1));
  spec.expression.result(spec.expression.input(0));
  spec.expression.result(spec.expression.input(0));
  spec.in = {{DType::f32, {n, c, s}, {}}, {DType::f32, {1, c, 1}, {}}};
  spec.out = {{DType::f32, {n, c, s}, {}}, {DType::f32, {1, c, 1}, {}}, {DType::f32, {n, 1, 1}, {}}};
  spec.rows = true;
  const auto x = ramp(n * c * s, -3, 0.01F), scale = ramp(c, 1, 1);
  std::vector<float> y(x.size()), by_channel(c), by_row(n);
  run(spec, {x.data(), scale.data()}, {y.data(), by_channel.data(), by_row.data()}, {.valid = 30});
  std::vector<double> channel(c), row(n);
  for (std::int64_t i = 0; i < n * c * s; ++i) {
    const auto value = x[static_cast<std::size_t>(i)];
    const auto which = static_cast<std::size_t>(i / s % c);
    ASSERT_EQ(y[static_cast<std::size_t>(i)], value * scale[which]);
    if (i / (c * s) >= 30) continue;
    channel[which] += static_cast<double>(value);
    row[static_cast<std::size_t>(i / (c * s))] += static_cast<double>(value);
  }
  for (std::size_t i = 0; i < channel.size(); ++i) EXPECT_NEAR(by_channel[i], channel[i], 1e-2);
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(by_row[i], row[i], 1e-3);
}

TEST_P(MapOpTest, SumsDoNotDependOnTheThreads) {
  MapSpec spec;
  spec.expression.result(spec.expression.input(0));
  spec.expression.result(spec.expression.input(0));
  spec.in = {{DType::f32, {3001, 97}, {}}};
  spec.out = {{DType::f32, {1, 97}, {}}, {DType::f32, {1, 1}, {}}};
  const auto x = ramp(3001 * 97, -3, 0.0137F);
  std::vector<float> first;
  for (int threads : {1, 2, 3, 7}) {
    std::vector<float> sums(98);
    run(spec, {x.data()}, {sums.data(), sums.data() + 97}, {}, threads);
    if (first.empty()) first = sums;
    EXPECT_EQ(sums, first) << threads << " threads";
  }
}

TEST_P(MapOpTest, DrawsAreTheSameInEveryFormat) {
  MapSpec spec;
  spec.expression.result(spec.expression.uniform());
  const TensorDesc plain{DType::f32, {2, 19, 3, 5}, {}};
  for (const std::string name : {"acdb", "aBcd16b"}) {
    const auto format = find_format(plain, name);
    ASSERT_TRUE(format) << format.status().message();
    const auto desc = plain.as(*format);
    spec.out = {desc};
    std::vector<float> drawn(static_cast<std::size_t>(elements_of(desc)), -1);
    run(spec, {}, {drawn.data()}, {.key = {7, 8}, .epoch = 2});
    const Placement placement(desc);
    double sum = 0;
    for (std::int64_t i = 0; i < plain.count(); ++i) {
      const std::int64_t index[] = {i / 285, i / 15 % 19, i / 5 % 3, i % 5};
      const auto right = draw({7, 8}, 2, static_cast<std::uint32_t>(i / 285), static_cast<std::uint64_t>(i % 285));
      ASSERT_EQ(drawn[static_cast<std::size_t>(placement.offset(index))], right) << name << " " << i;
      sum += static_cast<double>(right);
    }
    double all = 0;
    for (float value : drawn) all += static_cast<double>(value);
    EXPECT_NEAR(all, sum, 1e-9) << "the padding of " << name << " is not zero";
  }
}

TEST_P(MapOpTest, DrawsByRowAndElement) {
  MapSpec spec;
  spec.expression.result(spec.expression.uniform());
  spec.expression.result(spec.expression.uniform());
  const TensorDesc desc{DType::f32, {5, 301}, {}};
  spec.out = {desc, desc};
  const std::vector<std::uint32_t> samples{9, 1, 4, 4, 100000};
  std::vector<float> one(5 * 301), two(5 * 301);
  run(spec, {}, {one.data(), two.data()}, {.key = {7, 8}, .epoch = 2, .samples = samples});
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(one[i], draw({7, 8}, 2, samples[i / 301], i % 301));
    ASSERT_EQ(two[i], draw({7, 8}, 2, samples[i / 301], (std::uint64_t{1} << 40) + i % 301));
  }
}

} // namespace
} // namespace dlhost::plugins::cpu
