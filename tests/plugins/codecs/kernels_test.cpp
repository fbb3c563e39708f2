// The vector loops of the codecs, on every instruction set of this CPU, against loops over single elements.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <dlhost/half.h>
#include <dlhost/random.h>
#include <gtest/gtest.h>

#include "bits.h"
#include "kernels.h"

namespace dlhost::plugins {
namespace {

constexpr std::size_t counts[] = {1, 3, 8, 15, 16, 33, 200}; // with and without a rest behind whole vectors

std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  Random random({seed, 1}, 0, 0);
  std::vector<float> made(count);
  for (float& v : made) v = (2 * random.uniform() - 1) * std::exp2(-20 * random.uniform());
  return made;
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

class CodecKernelsTest : public testing::Test {
 protected:
  // check(kernels, count)
  template <class Check> static void on_each(Check&& check) {
    for (const auto& [name, kernels] : all_codec_kernels())
      for (const std::size_t count : counts) {
        SCOPED_TRACE(name + ", " + std::to_string(count) + " elements");
        check(kernels, count);
      }
  }
};

TEST_F(CodecKernelsTest, TheGreatestIsFoundAndWhatIsNoNumberToo) {
  on_each([](const CodecKernels& kernels, std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) {
      auto values = numbers(count, 1);
      values[at] = -3;
      EXPECT_EQ(kernels.greatest(values.data(), count), 3);
      for (const float wrong : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
        values[at] = wrong;
        EXPECT_TRUE(std::isnan(kernels.greatest(values.data(), count)));
      }
    }
  });
}

TEST_F(CodecKernelsTest, HalvesAreThoseOfTheSdk) {
  on_each([](const CodecKernels& kernels, std::size_t count) {
    auto values = numbers(count, 2);
    values[0] = std::nanf("");
    std::vector<std::uint16_t> halves(count);
    std::vector<float> arrives(count), sums(count, 1.0F);
    auto* bytes = reinterpret_cast<std::byte*>(halves.data());
    kernels.to_bf16(values.data(), bytes, arrives.data(), count);
    kernels.add_bf16(bytes, 0.5F, sums.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(halves[i], bf16_of_float(values[i]));
      EXPECT_EQ(bits_of(arrives[i]), bits_of(float_of_bf16(halves[i])));
      if (i > 0) {
        EXPECT_EQ(sums[i], 1 + 0.5F * arrives[i]);
      }
    }
    std::ranges::fill(sums, 1.0F);
    constexpr float scale = 0x1p-16F;
    kernels.to_f16(values.data(), scale, bytes, arrives.data(), count);
    kernels.add_f16(bytes, scale, sums.data(), count);
    EXPECT_TRUE(std::isnan(arrives[0]));
    EXPECT_TRUE(std::isnan(sums[0]));
    for (std::size_t i = 1; i < count; ++i) {
      EXPECT_EQ(halves[i], f16_of_float(values[i] / scale)) << values[i];
      EXPECT_EQ(arrives[i], float_of_f16(halves[i]) * scale);
      EXPECT_EQ(sums[i], 1 + arrives[i]);
    }
  });
}

TEST_F(CodecKernelsTest, BytesAreRoundedUpByTheirDraw) {
  on_each([](const CodecKernels& kernels, std::size_t count) {
    const auto values = numbers(count, 3);
    std::vector<float> draws(count), arrives(count), sums(count, 1.0F);
    const vectors::Draws from{.key = {.seed = 9}};
    kernels.draw(from, 5, draws.data(), static_cast<std::int64_t>(count));
    std::vector<std::int8_t> codes(count);
    auto* bytes = reinterpret_cast<std::byte*>(codes.data());
    constexpr float scale = 1.0F / 150; // the largest values do not fit
    kernels.to_int8(values.data(), scale, draws.data(), bytes, arrives.data(), count);
    kernels.add_int8(bytes, scale, sums.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(draws[i], draw(from.key, 0, 0, 5 + i));
      const float code = std::clamp(std::floor(values[i] / scale + draws[i]), -127.0F, 127.0F);
      EXPECT_EQ(static_cast<float>(codes[i]), code);
      EXPECT_EQ(arrives[i], code * scale);
      EXPECT_EQ(sums[i], 1 + code * scale);
    }
  });
}

TEST_F(CodecKernelsTest, LevelsAreTheOneBelowOrTheOneAbove) {
  on_each([](const CodecKernels& kernels, std::size_t count) {
    for (const bool natural : {false, true})
      for (const int top : {1, 7, 127}) {
        auto values = numbers(count, 4);
        values[0] = 0;
        std::vector<float> draws(count), arrives(count), sums(count, 1.0F);
        kernels.draw({.key = {.seed = 10}}, 0, draws.data(), static_cast<std::int64_t>(count));
        std::vector<std::uint8_t> codes(count);
        constexpr float norm = 0.75F; // some values are greater
        kernels.to_levels(values.data(), norm, {top, natural}, draws.data(), codes.data(), arrives.data(), count);
        kernels.add_levels(codes.data(), norm, {top, natural}, sums.data(), count);
        const auto place = [&](int level) {
          if (!natural) return static_cast<float>(level) / static_cast<float>(top);
          return level == 0 ? 0.0F : std::ldexp(1.0F, level - top);
        };
        for (std::size_t i = 0; i < count; ++i) {
          const float share = std::min(1.0F, std::abs(values[i]) / norm);
          int below = 0;
          while (below < top && place(below + 1) <= share) ++below;
          const bool up = below < top && draws[i] * (place(below + 1) - place(below)) < share - place(below);
          const int level = codes[i] >> 1;
          EXPECT_NEAR(place(level), place(up ? below + 1 : below), 1e-6F)
              << share; // may be one level off, where both are as near
          EXPECT_EQ((codes[i] & 1) != 0, values[i] < 0);
          EXPECT_EQ(arrives[i], norm * std::copysign(place(level), values[i]));
          EXPECT_EQ(sums[i], 1 + arrives[i]);
        }
        // A code that no encoder makes.
        std::ranges::fill(codes, std::uint8_t{254});
        std::ranges::fill(sums, 0.0F);
        kernels.add_levels(codes.data(), norm, {top, natural}, sums.data(), count);
        for (const float sum : sums) EXPECT_EQ(sum, norm * place(std::min(top, 127)));
      }
  });
}

TEST_F(CodecKernelsTest, SignsAreCountedAndSummed) {
  on_each([](const CodecKernels& kernels, std::size_t count) {
    const auto values = numbers(count, 5);
    std::vector<std::uint8_t> codes(count);
    const SignSums sums = kernels.to_signs(values.data(), codes.data(), count);
    double below = 0, others = 0;
    std::size_t count_below = 0;
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(codes[i] != 0, values[i] < 0);
      (values[i] < 0 ? below : others) += static_cast<double>(values[i]);
      count_below += values[i] < 0 ? 1 : 0;
    }
    EXPECT_NEAR(sums.below, below, 1e-4);
    EXPECT_NEAR(sums.others, others, 1e-4);
    EXPECT_EQ(sums.count_below, count_below);
    std::vector<float> got(count, 1.0F);
    const float means[] = {2, -3};
    kernels.add_signs(codes.data(), means, got.data(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(got[i], values[i] < 0 ? -2 : 3);
  });
}

TEST(CodecBits, CodesOfAnyWidthComeBackPieceByPiece) {
  for (int width = 1; width <= 8; ++width) {
    const Bits bits(width);
    std::vector<std::uint8_t> codes(45), got(45);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>((i * 37) & ((1U << width) - 1));
    std::vector<std::byte> packed(bits.bytes(codes.size()));
    for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{32, 13}, {0, 24}, {24, 8}}) {
      bits.pack(std::span(codes).subspan(first, count), first, packed);
      bits.unpack(packed, first, std::span(got).subspan(first, count));
    }
    EXPECT_EQ(got, codes) << width;
  }
}

} // namespace
} // namespace dlhost::plugins
