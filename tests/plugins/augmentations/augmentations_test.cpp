#include <cstring>
#include <set>

#include "net/augment.h"
#include "sources.h"

namespace dlhost::test {
namespace {

using Entries = SourceTest::Entries;

class Augmentations : public testing::Test {
 protected:
  Result<net::Augment> make(std::vector<std::pair<std::string, Entries>> list, const TensorDesc& sample) {
    std::vector<Part> parts;
    for (auto& [type, options] : list) parts.push_back({type, Table{std::move(options), {}}});
    return net::Augment::make(host, parts, sample);
  }
  net::Augment chain(std::vector<std::pair<std::string, Entries>> list, const TensorDesc& sample) {
    auto made = make(std::move(list), sample);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : net::Augment();
  }
  std::string why(const std::string& type, Entries options, const TensorDesc& sample) {
    return make({{type, std::move(options)}}, sample).status().message();
  }
  template <class To, class From>
  std::vector<To> apply(const net::Augment& chain, const std::vector<From>& sample, bool training,
                        std::uint32_t number = 0) {
    std::vector<To> result(static_cast<std::size_t>(chain.result().count()));
    std::vector<std::byte> scratch(chain.scratch_bytes());
    Random random({7, 0}, 0, number);
    chain.apply(reinterpret_cast<const std::byte*>(sample.data()), reinterpret_cast<std::byte*>(result.data()),
                scratch.data(), training, random);
    return result;
  }

  PluginHost host;
};

using Bytes = std::vector<std::uint8_t>;
const TensorDesc four_by_four{DType::u8, {1, 4, 4}, {}};
const Bytes sixteen{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TEST_F(Augmentations, CropTakesTheMiddleOrAnyPlace) {
  const auto crop = chain({{"crop", {{"size", value({2})}}}}, four_by_four);
  EXPECT_EQ(crop.result(), (TensorDesc{DType::u8, {1, 2, 2}, {}}));
  EXPECT_EQ(apply<std::uint8_t>(crop, sixteen, false), (Bytes{5, 6, 9, 10}));
  std::set<Bytes> seen;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const auto piece = apply<std::uint8_t>(crop, sixteen, true, i);
    EXPECT_EQ(piece[3], piece[0] + 5);
    seen.insert(piece);
  }
  EXPECT_EQ(seen.size(), 9U);
}

TEST_F(Augmentations, PadCropWritesTheBorder) {
  const auto crop = chain({{"pad_crop", {{"pad", value(1)}, {"size", value({6, 6})}, {"value", value(9.0)}}}},
                          {DType::f32, {2, 4, 4}, {}});
  std::vector<float> sample(32);
  for (std::size_t i = 0; i < 32; ++i) sample[i] = static_cast<float>(i) + 100;
  const auto whole = apply<float>(crop, sample, false);
  EXPECT_EQ(std::vector<float>(whole.begin(), whole.begin() + 12),
            (std::vector<float>{9, 9, 9, 9, 9, 9, 9, 100, 101, 102, 103, 9}));
  EXPECT_EQ(whole[36 + 7], 116);
  EXPECT_EQ(whole[71], 9);
  const auto same = chain({{"pad_crop", {{"pad", value(6)}}}}, four_by_four);
  EXPECT_EQ(apply<std::uint8_t>(same, sixteen, false), sixteen);
  for (std::uint32_t i = 0; i < 300; ++i) { // beyond the picture on every side
    const auto piece = apply<std::uint8_t>(same, sixteen, true, i);
    for (std::size_t at = 0; at + 1 < 16; ++at)
      if (at % 4 != 3 && piece[at] && piece[at + 1]) {
        EXPECT_EQ(piece[at + 1], piece[at] + 1);
      }
  }
}

TEST_F(Augmentations, MirrorFlipsTheShareItIsTold) {
  const auto mirror = chain({{"mirror", {{"probability", value(0.25)}}}}, four_by_four);
  int flipped = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const auto picture = apply<std::uint8_t>(mirror, sixteen, true, i);
    if (picture == sixteen) continue;
    ++flipped;
    EXPECT_EQ(picture, (Bytes{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12}));
  }
  EXPECT_NEAR(flipped, 250, 50);
  EXPECT_EQ(apply<std::uint8_t>(chain({{"mirror", {{"probability", value(1.0)}}}}, four_by_four), sixteen, false),
            sixteen);
}

TEST_F(Augmentations, NormalizeByChannel) {
  const TensorDesc pair{DType::u8, {2, 1, 2}, {}};
  const auto by_channel =
      chain({{"normalize", {{"mean", value({1.0, 10.0})}, {"deviation", value({0.5, 2.0})}}}}, pair);
  EXPECT_EQ(apply<float>(by_channel, Bytes{1, 2, 30, 0}, true), (std::vector<float>{0, 2, 10, -5}));
  const auto same = chain({{"normalize", {{"mean", value({1.0})}}}, {"normalize", {{"scale", value({3.0})}}}}, pair);
  EXPECT_EQ(apply<float>(same, Bytes{1, 2, 30, 0}, true), (std::vector<float>{0, 3, 87, -3}));
}

TEST_F(Augmentations, ColourMovesAllPixelsAlike) {
  const auto colour = chain({{"colour", {}}}, {DType::f32, {3, 2, 2}, {}});
  const std::vector<float> grey(12, 100);
  std::set<float> reds;
  double power = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const auto moved = apply<float>(colour, grey, true, i);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(moved[4 * c], moved[4 * c + 3]);
    reds.insert(moved[0]);
    power += (moved[0] - 100) * (moved[0] - 100) / 1000;
  }
  EXPECT_GT(reds.size(), 900U);
  // Red's shift: 255 * 0.1 * sqrt(sum (vector * value)^2).
  EXPECT_NEAR(std::sqrt(power), 25.5 * 0.1242, 0.3);
  EXPECT_EQ(apply<float>(colour, grey, false), grey);
  const auto bytes = chain({{"colour", {{"deviation", value(1e6)}}}}, {DType::u8, {3, 1, 1}, {}});
  for (const auto byte : apply<std::uint8_t>(bytes, Bytes{128, 128, 128}, true)) EXPECT_TRUE(byte == 0 || byte == 255);
}

// Red is a pixel's column, green its row. Linear interpolation keeps this, so a result shows its piece of the picture.
std::vector<float> places_of(std::int64_t height, std::int64_t width) {
  std::vector<float> sample;
  for (std::int64_t channel = 0; channel < 2; ++channel)
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x) sample.push_back(static_cast<float>(channel == 0 ? x : y));
  return sample;
}

TEST_F(Augmentations, ResizedCropDrawsAreaAndAspect) {
  constexpr std::int64_t height = 60, width = 80;
  constexpr std::size_t side = 200; // every piece is enlarged
  const auto crop = chain(
      {{"random_resized_crop", {{"size", value({200})}, {"area", value({0.1, 0.5})}, {"aspect", value({0.5, 2.0})}}}},
      {DType::f32, {2, height, width}, {}});
  const auto sample = places_of(height, width);
  double area_sum = 0;
  int wide = 0;
  for (std::uint32_t i = 0; i < 400; ++i) {
    const auto piece = apply<float>(crop, sample, true, i);
    // A fifth and four fifths of the way lie far from the edges.
    const auto at = [&](std::size_t channel, std::size_t y, std::size_t x) {
      return static_cast<double>(piece[(channel * side + y) * side + x]);
    };
    const double across = (at(0, 100, 160) - at(0, 100, 40)) * side / 120;
    const double down = (at(1, 160, 100) - at(1, 40, 100)) * side / 120;
    const double area = across * down / (height * width), aspect = across / down;
    EXPECT_TRUE(area > 0.09 && area < 0.52) << area; // sides are whole pixels
    EXPECT_TRUE(aspect > 0.47 && aspect < 2.1) << aspect;
    EXPECT_TRUE(at(0, 100, 0) >= -1e-3 && at(0, 100, side - 1) <= width - 1 + 1e-3);
    EXPECT_TRUE(at(1, 0, 100) >= -1e-3 && at(1, side - 1, 100) <= height - 1 + 1e-3);
    area_sum += area / 400;
    wide += aspect > 1 ? 1 : 0;
  }
  EXPECT_NEAR(area_sum, 0.3, 0.02);
  EXPECT_NEAR(wide, 200, 45);
}

TEST_F(Augmentations, ResizedCropShowsTheMiddleOtherwise) {
  const auto sample = places_of(64, 80);
  const TensorDesc picture{DType::f32, {2, 64, 80}, {}};
  // 0.875 of 64 rows: 56 from row 4 on, of 80 columns from 12 on.
  const auto middle = apply<float>(chain({{"random_resized_crop", {{"size", value({56})}}}}, picture), sample, false);
  EXPECT_EQ(middle[0], 12);
  EXPECT_EQ(middle[55], 67);
  EXPECT_EQ(middle[56 * 56], 4);
  const auto whole = chain({{"random_resized_crop", {{"size", value({64, 80})}, {"middle", value(1.0)}}}}, picture);
  EXPECT_EQ(apply<float>(whole, sample, false), sample);
  // A drawn piece that is the whole picture; and a piece whose aspect differs from the picture's.
  const auto all = chain(
      {{"random_resized_crop", {{"size", value({4})}, {"area", value({1.0, 1.0})}, {"aspect", value({1.0, 1.0})}}}},
      four_by_four);
  EXPECT_EQ(apply<std::uint8_t>(all, sixteen, true), sixteen);
  const auto tall = chain(
      {{"random_resized_crop", {{"size", value({4, 2})}, {"area", value({1.0, 1.0})}, {"aspect", value({0.5, 0.5})}}}},
      four_by_four);
  EXPECT_EQ(apply<std::uint8_t>(tall, sixteen, true), (Bytes{1, 2, 5, 6, 9, 10, 13, 14}));
}

// The weights of Pillow's BILINEAR: at half size, three or four pixels make one, by 3 : 3 : 1 at the edge.
TEST_F(Augmentations, ResizedCropFilters) {
  const auto half =
      chain({{"random_resized_crop", {{"size", value({2})}, {"middle", value(1.0)}}}}, {DType::f32, {1, 4, 4}, {}});
  const std::vector<float> columns{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  const auto small = apply<float>(half, columns, false);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(small[i], i % 2 == 0 ? 5.0 / 7 : 16.0 / 7, 1e-6) << i;
}

// For all sizes the weights sum to 1.
TEST_F(Augmentations, ResizedCropKeepsAFlatPicture) {
  for (const int height : {1, 3, 40, 700})
    for (const int width : {1, 7, 90, 1000})
      for (const int to : {2, 5, 64, 300}) {
        const TensorDesc picture{DType::u8, {3, height, width}, {}};
        const auto crop =
            chain({{"random_resized_crop", {{"size", value({to, 3 * to})}, {"middle", value(1.0)}}}}, picture);
        const Bytes flat(static_cast<std::size_t>(picture.count()), 77);
        for (const bool training : {false, true})
          for (const auto byte : apply<std::uint8_t>(crop, flat, training))
            ASSERT_EQ(byte, 77) << height << 'x' << width;
      }
}

TEST_F(Augmentations, EraseWritesOverARectangle) {
  const TensorDesc picture{DType::u8, {3, 40, 50}, {}};
  const Bytes grey(3 * 40 * 50, 100);
  const auto erase = chain({{"random_erase",
                             {{"probability", value(0.4)},
                              {"area", value({0.1, 0.3})},
                              {"aspect", value({0.5, 2.0})},
                              {"value", value({1.0, 2.0, 3.0})}}}},
                           picture);
  int erased = 0;
  double share_sum = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const auto made = apply<std::uint8_t>(erase, grey, true, i);
    if (made == grey) continue;
    ++erased;
    std::int64_t top = 40, bottom = 0, left = 50, right = 0, count = 0;
    for (std::int64_t at = 0; at < 2000; ++at) {
      const auto pixel = static_cast<std::size_t>(at);
      if (made[pixel] == 100) continue;
      ASSERT_TRUE(made[pixel] == 1 && made[pixel + 2000] == 2 && made[pixel + 4000] == 3);
      top = std::min(top, at / 50);
      bottom = std::max(bottom, at / 50 + 1);
      left = std::min(left, at % 50);
      right = std::max(right, at % 50 + 1);
      ++count;
    }
    ASSERT_EQ(count, (bottom - top) * (right - left));
    const double share = static_cast<double>(count) / 2000;
    const double aspect = static_cast<double>(bottom - top) / static_cast<double>(right - left);
    EXPECT_TRUE(share > 0.085 && share < 0.32) << share;
    EXPECT_TRUE(aspect > 0.42 && aspect < 2.3) << aspect;
    share_sum += share;
  }
  EXPECT_NEAR(erased, 400, 60);
  EXPECT_NEAR(share_sum / erased, 0.2, 0.02);
  EXPECT_EQ(apply<std::uint8_t>(erase, grey, false), grey);
}

TEST_F(Augmentations, ChainsPassTheSampleOn) {
  const auto all = chain({{"pad_crop", {{"pad", value(2)}}},
                          {"crop", {{"size", value({2, 3})}}},
                          {"mirror", {}},
                          {"normalize", {{"scale", value({2.0})}}}},
                         four_by_four);
  EXPECT_EQ(all.result(), (TensorDesc{DType::f32, {1, 2, 3}, {}}));
  EXPECT_EQ(apply<float>(all, sixteen, false), (std::vector<float>{8, 10, 12, 16, 18, 20}));
  EXPECT_EQ(apply<float>(all, sixteen, true, 5), apply<float>(all, sixteen, true, 5));
}

TEST_F(Augmentations, SayWhatIsWrong) {
  EXPECT_THAT(why("crop", {{"size", value({5})}}, four_by_four), testing::HasSubstr("the picture has only 4x4"));
  EXPECT_THAT(why("crop", {{"size", value({1, 2, 3})}}, four_by_four), testing::HasSubstr("size has 3 numbers"));
  EXPECT_THAT(why("mirror", {}, {DType::f32, {16}, {}}), testing::HasSubstr("augmentation 1 (mirror): the sample has"));
  EXPECT_THAT(why("pad_crop", {{"value", value(300.0)}}, four_by_four), testing::HasSubstr("0 to 255"));
  EXPECT_THAT(why("normalize", {{"mean", value({1.0, 2.0})}}, four_by_four), testing::HasSubstr("must have 1 or 1"));
  EXPECT_THAT(why("random_resized_crop", {{"size", value({2})}, {"area", value({0.5, 0.1})}}, four_by_four),
              testing::HasSubstr("area must be [low, high] with 0 < low <= high <= 1, but has 2 numbers, 0.5 and 0.1"));
  EXPECT_THAT(why("random_resized_crop", {{"size", value({1})}}, {DType::u8, {1, 4, 600}, {}}),
              testing::HasSubstr("less than one part in 512 of the picture"));
  EXPECT_THAT(why("random_erase", {{"aspect", value({1.0})}}, four_by_four),
              testing::HasSubstr("aspect must be [low, high] with 0 < low <= high, but has 1 numbers"));
  EXPECT_THAT(why("random_erase", {{"value", value({1.0, 2.0})}}, four_by_four),
              testing::HasSubstr("must have 1 or 1"));
  EXPECT_THAT(why("random_erase", {{"value", value({300.0})}}, four_by_four), testing::HasSubstr("0 to 255"));
  EXPECT_THAT(why("colour", {}, four_by_four), testing::HasSubstr("red, green and blue"));
}

} // namespace
} // namespace dlhost::test
