#include <cmath>

#include "pictures.h"
#include "sources.h"

namespace dlhost::test {
namespace {

using input::PictureDecoder;
using input::PictureTarget;
using Bytes = std::vector<std::uint8_t>;

Result<Bytes> decode(std::string_view file, const PictureTarget& target) {
  Bytes picture(static_cast<std::size_t>(target.channels * target.height * target.width));
  PictureDecoder decoder;
  DLHOST_TRY(decoder.decode(std::as_bytes(std::span(file)), target, picture.data()));
  return picture;
}

Bytes decoded(std::string_view file, const PictureTarget& target) {
  auto picture = decode(file, target);
  EXPECT_TRUE(picture.ok()) << picture.status().message();
  return picture.ok() ? *picture : Bytes();
}

TEST(Pictures, PngOfTheRightSizeIsExact) {
  const auto pixels = gradient(5, 7);
  const auto picture = decoded(png(pixels), {3, 5, 7, true});
  for (std::size_t i = 0; i < 35; ++i)
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(picture[c * 35 + i], pixels.data[3 * i + c]);
  EXPECT_EQ(decoded(png(gradient(5, 7, 1)), {1, 5, 7, true}), gradient(5, 7, 1).data);
}

TEST(Pictures, JpegIsCloseInAllSizes) {
  const auto file = jpeg(gradient(192, 256));
  for (const auto& [height, width] : {std::pair{192, 256}, {96, 128}, {48, 64}, {60, 80}, {300, 400}, {12, 16}}) {
    const auto picture = decoded(file, {3, height, width, true});
    for (const auto& [y, x] : {std::pair{0.25, 0.25}, {0.5, 0.75}, {0.9, 0.1}}) {
      const auto row = static_cast<std::size_t>(y * height), column = static_cast<std::size_t>(x * width);
      const std::size_t at = row * static_cast<std::size_t>(width) + column;
      const auto plane = static_cast<std::size_t>(height * width);
      const double cell = 255.0 / std::min(height, 192);
      EXPECT_NEAR(picture[at], x * 255, 4 + cell) << height;
      EXPECT_NEAR(picture[plane + at], y * 255, 4 + cell) << height;
      EXPECT_NEAR(picture[2 * plane + at], 100, 4) << height;
    }
  }
}

TEST(Pictures, CropKeepsTheRatioAndStretchDoesNot) {
  const auto file = png(gradient(100, 200));
  const auto crop = decoded(file, {3, 50, 50, true}), stretched = decoded(file, {3, 50, 50, false});
  EXPECT_NEAR(crop[25 * 50], 64, 4); // a quarter from the left
  EXPECT_NEAR(crop[25 * 50 + 49], 191, 4);
  EXPECT_NEAR(stretched[25 * 50], 2, 4);
  EXPECT_NEAR(stretched[25 * 50 + 49], 253, 4);
}

// A part decodes like the whole picture: colours at its edges are interpolated from pixels beyond them.
TEST(Pictures, APartIsWhatItIsInTheWhole) {
  const auto wide = gradient(64, 200), high = gradient(200, 64);
  for (const bool shared_colours : {false, true}) {
    const auto whole = decoded(jpeg(wide, shared_colours), {3, 64, 200, true});
    const auto middle = decoded(jpeg(wide, shared_colours), {3, 64, 64, true});
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t y = 0; y < 64; ++y)
        for (std::size_t x = 0; x < 64; ++x)
          ASSERT_EQ(middle[(c * 64 + y) * 64 + x], whole[(c * 64 + y) * 200 + 68 + x]) << c << ' ' << y << ' ' << x;
    const auto tall = decoded(jpeg(high, shared_colours), {3, 200, 64, true});
    const auto centre = decoded(jpeg(high, shared_colours), {3, 64, 64, true});
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t y = 0; y < 64; ++y)
        for (std::size_t x = 0; x < 64; ++x)
          ASSERT_EQ(centre[(c * 64 + y) * 64 + x], tall[(c * 200 + 68 + y) * 64 + x]) << c << ' ' << y << ' ' << x;
  }
}

TEST(Pictures, ShrinkingAveragesFinePatterns) {
  input::Pixels stripes{{}, 64, 64, 1};
  for (int i = 0; i < 64 * 64; ++i) stripes.data.push_back(i % 2 ? 255 : 0);
  for (const auto value : decoded(png(stripes), {1, 9, 9, true})) EXPECT_NEAR(value, 127, 25);
}

TEST(Pictures, GreyAndColourTurnIntoEachOther) {
  const auto colour = decoded(jpeg(gradient(8, 8, 1)), {3, 8, 8, true});
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(colour[i], colour[128 + i]);
  EXPECT_EQ(decoded(jpeg(gradient(8, 8)), {1, 8, 8, true}).size(), 64U);
}

TEST(Pictures, DamageIsTold) {
  const auto why = [](std::string_view file) { return decode(file, {3, 8, 8, true}).status().message(); };
  const auto picture = jpeg(gradient(64, 64)), drawing = png(gradient(64, 64));
  EXPECT_THAT(why(""), testing::HasSubstr("is not a picture that this build reads"));
  EXPECT_THAT(why("GIF89a"), testing::HasSubstr("convert it"));
  EXPECT_THAT(why(std::string_view(picture).substr(0, 20)), testing::HasSubstr("damaged JPEG"));
  EXPECT_THAT(why(std::string_view(picture).substr(0, picture.size() / 2)), testing::HasSubstr("damaged JPEG"));
  EXPECT_THAT(why(std::string_view(drawing).substr(0, drawing.size() / 2)), testing::HasSubstr("damaged PNG"));
  auto huge = drawing;
  huge[16] = '\x7f'; // the width's first byte
  EXPECT_THAT(why(huge), testing::AnyOf(testing::HasSubstr("its header says"), testing::HasSubstr("damaged PNG")));
}

class ImagesTest : public SourceTest {
 protected:
  void picture(const std::string& name, std::uint8_t value) {
    const auto slash = (folder / name).rfind('/');
    std::filesystem::create_directories((folder / name).substr(0, slash));
    write(name, png({Bytes(3 * 4 * 4, value), 4, 4, 3}));
  }
};

TEST_F(ImagesTest, AFolderForEachClass) {
  picture("train/cat/a.png", 1);
  picture("train/cat/deeper/b.PNG", 2);
  picture("train/ant/c.png", 3);
  picture("val/cat/d.png", 4);
  write("train/cat/notes.md", "no picture");
  for (const int cache : {0, 1}) {
    auto images =
        open("images",
             {{"train", value("train")}, {"validate", value("val")}, {"size", value({4})}, {"cache", value(cache)}});
    ASSERT_TRUE(images.status.ok()) << images.status.message();
    EXPECT_EQ(images.outputs[0].desc, (TensorDesc{DType::u8, {3, 4, 4}, {}}));
    EXPECT_EQ(images.source->count(Phase::train), 3);
    EXPECT_EQ(images.label(Phase::train, 0), 0); // ant
    EXPECT_EQ(images.label(Phase::train, 2), 1);
    EXPECT_EQ(images.label(Phase::validate, 0), 1);
    for (int time = 0; time < 2; ++time) {
      EXPECT_EQ(images.values<std::uint8_t>(Phase::train, 0), Bytes(48, 3));
      EXPECT_EQ(images.values<std::uint8_t>(Phase::train, 2), Bytes(48, 2));
    }
  }
}

TEST_F(ImagesTest, AList) {
  picture("some where/a.png", 1);
  picture("b.png", 2);
  write("list.txt", "some where/a.png 7\r\n\nb.png\t0\n");
  auto images = open("images", {{"train", value("list.txt")}, {"size", value({4})}});
  ASSERT_TRUE(images.status.ok()) << images.status.message();
  EXPECT_EQ(images.label(Phase::train, 0), 7);
  EXPECT_EQ(images.values<std::uint8_t>(Phase::train, 1), Bytes(48, 2));
}

// The next readable picture takes a broken one's place, in any order of reads: all readers, workers and resumed runs
// see the same samples.
TEST_F(ImagesTest, TheNextTakesABrokenOnesPlace) {
  std::string list;
  for (int i = 0; i < 8; ++i) {
    const std::string name = concat("p", i, ".png");
    if (i != 6) picture(name, static_cast<std::uint8_t>(10 * i)); // picture 6 has no file
    list += concat(name, " ", i, "\n");
  }
  write("list.txt", list);
  write("p2.png", "no picture");
  write("p3.png", std::string_view(png(gradient(4, 4))).substr(0, 50));
  write("p7.png", "");
  const std::int32_t expected[] = {0, 1, 4, 4, 4, 5, 0, 0};
  for (const int first : {0, 2, 3, 6, 7})
    for (const int step : {1, 3, 7}) {
      auto images = open("images", {{"train", value("list.txt")},
                                    {"size", value({4})},
                                    {"broken", value("skip")},
                                    {"broken_limit", value(0.5)}});
      ASSERT_TRUE(images.status.ok()) << images.status.message();
      EXPECT_EQ(images.source->count(Phase::train), 8);
      for (int turn = 0; turn < 8; ++turn) {
        const int index = (first + turn * step) % 8, label = expected[index];
        EXPECT_EQ(images.label(Phase::train, index), label) << index;
        EXPECT_EQ(images.values<std::uint8_t>(Phase::train, index), Bytes(48, static_cast<std::uint8_t>(10 * label)));
        EXPECT_THAT(images.source->sample_name(Phase::train, index), testing::EndsWith(concat("p", label, ".png")));
      }
    }
}

// A phase's own samples replace its broken ones: training never uses a test picture.
TEST_F(ImagesTest, APhaseKeepsToItself) {
  for (const char* name : {"train/ant/1.png", "train/ant/3.png", "train/ant/4.png"}) picture(name, 1);
  picture("train/ant/2.png", 2);
  write("train/ant/3.png", "no picture");
  auto images = open("images", {{"train", value("train")},
                                {"test_every", value(2)},
                                {"size", value({4})},
                                {"broken", value("skip")},
                                {"broken_limit", value(0.25)}});
  ASSERT_TRUE(images.status.ok()) << images.status.message();
  EXPECT_EQ(images.values<std::uint8_t>(Phase::train, 1), Bytes(48, 1)); // 1 replaces 3: 2 and 4 are test samples
  EXPECT_EQ(images.values<std::uint8_t>(Phase::test, 0), Bytes(48, 2));
}

TEST_F(ImagesTest, TooManyBrokenOnesEndTheRun) {
  for (int i = 0; i < 10; ++i) picture(concat("train/ant/", i, ".png"), 1);
  for (int i : {2, 4, 5}) write(concat("train/ant/", i, ".png"), "no picture");
  Bytes data(48), label(4);
  std::byte* places[] = {reinterpret_cast<std::byte*>(data.data()), reinterpret_cast<std::byte*>(label.data())};
  const auto read_all = [&](double limit) {
    auto images = open(
        "images",
        {{"train", value("train")}, {"size", value({4})}, {"broken", value("skip")}, {"broken_limit", value(limit)}});
    for (std::int64_t i = 0; i < 10; ++i)
      if (Status status = images.source->read(Phase::train, i, places); !status.ok()) return status;
    return Status();
  };
  EXPECT_TRUE(read_all(0.3).ok());
  EXPECT_THAT(read_all(0.2).message(),
              testing::AllOf(testing::HasSubstr("3 of 10 pictures cannot be read so far, more than broken_limit = 0.2 "
                                                "lets pass ("),
                             testing::HasSubstr("train/ant/2.png, "),
                             testing::HasSubstr("train/ant/5.png): repair them, take them away or raise broken_limit"),
                             testing::HasSubstr("; the last: ")));
  EXPECT_THAT(read_all(0).message(), testing::StartsWith("1 of 10 pictures"));
  for (int i = 0; i < 10; ++i) write(concat("train/ant/", i, ".png"), "no picture");
  EXPECT_EQ(read_all(1).message(), "none of the 10 pictures can be read");
}

TEST_F(ImagesTest, APredictionLeavesNoneOut) {
  picture("new/a.png", 1);
  write("new/b.png", "no picture");
  auto images = open("images", {{"unlabelled", value({"new"})}, {"size", value({4})}, {"broken", value("skip")}});
  ASSERT_TRUE(images.status.ok()) << images.status.message();
  Bytes data(48), label(4);
  std::byte* places[] = {reinterpret_cast<std::byte*>(data.data()), reinterpret_cast<std::byte*>(label.data())};
  EXPECT_THAT(images.source->read(Phase::test, 1, places).message(), testing::HasSubstr("new/b.png: is not a picture"));
}

TEST_F(ImagesTest, SaysWhatIsWrong) {
  picture("train/cat/a.png", 1);
  picture("val/dog/a.png", 1);
  write("list.txt", "a.png 0\nb.png\n");
  write("empty.txt", "");
  const auto why = [&](const char* train, const char* test) {
    return open("images", {{"train", value(train)}, {"test", value(test)}, {"size", value({4})}}).status.message();
  };
  EXPECT_THAT(why("none", ""), testing::HasSubstr("none"));
  EXPECT_THAT(why("train/cat", ""), testing::HasSubstr("folders named after their classes"));
  EXPECT_THAT(why("train", "val"), testing::HasSubstr("val/dog: there is no class of this name in training"));
  EXPECT_THAT(why("list.txt", ""), testing::HasSubstr("list.txt: line 2"));
  EXPECT_THAT(why("empty.txt", ""), testing::HasSubstr("names no pictures"));
  write("train/cat/a.png", "no picture");
  auto images = open("images", {{"train", value("train")}, {"size", value({4})}});
  Bytes data(48), label(4);
  std::byte* places[] = {reinterpret_cast<std::byte*>(data.data()), reinterpret_cast<std::byte*>(label.data())};
  EXPECT_THAT(images.source->read(Phase::train, 0, places).message(),
              testing::HasSubstr("train/cat/a.png: is not a picture"));
}

} // namespace
} // namespace dlhost::test
