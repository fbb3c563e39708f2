#include "meeting/frames.h"

#include <gmock/gmock.h>

namespace dlhost::plugins::meeting {
namespace {

using testing::HasSubstr;

constexpr Key one{1}, other{2};

class FramesTest : public testing::Test {
 protected:
  std::string sealed(std::string_view words) {
    std::string out;
    EXPECT_TRUE(caller_.seal(words, out).ok());
    return out;
  }
  Frames caller_{one, other}, callee_{other, one};
};

TEST_F(FramesTest, WhatIsSealedIsReadInItsOrder) {
  std::string heard = sealed("first");
  heard += sealed("");
  heard += sealed("third");
  EXPECT_EQ(heard.find("first"), std::string::npos) << "encrypted";
  for (const char* words : {"first", "", "third"}) {
    const auto opened = callee_.open(heard);
    ASSERT_TRUE(opened.ok() && *opened);
    EXPECT_EQ(**opened, words);
  }
  EXPECT_FALSE(callee_.open(heard)->has_value());
  std::string back;
  ASSERT_TRUE(callee_.seal("back", back).ok());
  EXPECT_EQ(**caller_.open(back), "back");
}

TEST_F(FramesTest, BytesMayComeOneByOne) {
  std::string heard;
  const std::string all = sealed("a message");
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    heard += all[i];
    const auto opened = callee_.open(heard);
    ASSERT_TRUE(opened.ok() && !*opened) << i;
  }
  heard += all.back();
  EXPECT_EQ(**callee_.open(heard), "a message");
}

TEST_F(FramesTest, ChangedLeftOutSaidAgainOrReflectedIsSeen) {
  const std::string first = sealed("first"), second = sealed("second");
  for (std::size_t bit = 32; bit < first.size() * 8; bit += 5) {
    std::string changed = first;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(callee_.open(changed).ok()) << bit;
  }
  std::string left_out = second;
  EXPECT_FALSE(callee_.open(left_out).ok());
  std::string reflected = first;
  EXPECT_FALSE(caller_.open(reflected).ok());
  std::string heard = first + first;
  EXPECT_TRUE(callee_.open(heard).ok());
  EXPECT_THAT(callee_.open(heard).status().message(), HasSubstr("not sealed for this connection"));
}

TEST_F(FramesTest, AnAnnouncedLengthIsCheckedFirst) {
  for (const std::string& head : {std::string("\xff\xff\xff\xff", 4), std::string("\x01\0\0\0", 4)}) {
    std::string heard = head + "x";
    EXPECT_THAT(callee_.open(heard).status().message(), HasSubstr("announces a message of"));
  }
  std::string out;
  EXPECT_EQ(caller_.seal(std::string(longest_frame + 1, 'x'), out).code(), Code::no_space);
}

} // namespace
} // namespace dlhost::plugins::meeting
