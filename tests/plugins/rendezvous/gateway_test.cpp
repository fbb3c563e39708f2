// The reading of etcd's answers, without an etcd.
#include "gateway.h"

#include <limits>

#include <gmock/gmock.h>

namespace dlhost::plugins::rendezvous {
namespace {

TEST(GatewayTest, BytesGoThereAndBack) {
  const std::string bytes("\0\xFF\x80 text", 8);
  EXPECT_EQ(bytes_of(Json(base64(bytes))), bytes);
  EXPECT_EQ(base64("a"), "YQ==");
  EXPECT_EQ(bytes_of(Json(base64(""))), "");
}

TEST(GatewayTest, WhatIsOfAnotherKindIsNothing) {
  for (const char* text : {"null", "[]", "{}", "1.5", "true", "\"x\"", "\"12x\"", "\"\"", "\"99999999999999999999\""})
    EXPECT_EQ(number_of(Json::parse(text)), 0) << text;
  EXPECT_EQ(number_of(Json::parse("\"-9223372036854775808\"")), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(number_of(Json::parse("7")), 7);
  for (const char* text : {"null", "5", "\"no base64!\"", "\"YQ=\"", "[\"YQ==\"]"})
    EXPECT_EQ(bytes_of(Json::parse(text)), "") << text;
  EXPECT_TRUE(field(Json::parse("[1]"), "a").is_null());
  EXPECT_TRUE(field(Json::parse("{\"b\": 1}"), "a").is_null());
  EXPECT_TRUE(field(Json::parse("{", nullptr, false), "a").is_null());
}

TEST(GatewayTest, ARangeEndsAfterAllThatBeginSo) {
  EXPECT_EQ(after("a/"), "a0");
  EXPECT_EQ(after(std::string("a\xFF\xFF")), "b");
  EXPECT_EQ(after("\xFF"), std::string(1, '\0')) << "the end of all";
}

} // namespace
} // namespace dlhost::plugins::rendezvous
