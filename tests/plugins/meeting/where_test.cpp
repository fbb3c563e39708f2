#include "meeting/where.h"

#include <gmock/gmock.h>

namespace dlhost::plugins::meeting {
namespace {

using testing::HasSubstr;

TEST(WhereTest, APlaceIsAHostAndAPort) {
  for (const auto& [text, host, port] :
       {std::tuple("127.0.0.1:80", "127.0.0.1", 80), {"[::1]:4242", "::1", 4242}, {"10.1.2.3:0", "10.1.2.3", 0}}) {
    const auto where = Where::find(text);
    ASSERT_TRUE(where.ok()) << where.status().message();
    EXPECT_EQ(where->host, host);
    EXPECT_EQ(where->port, port);
    EXPECT_EQ(where->text(), text);
    EXPECT_TRUE(where->place().ok());
  }
  EXPECT_TRUE(Where::find("localhost:1").ok()) << "a name";
}

TEST(WhereTest, WhatIsNoneSaysHowOneLooks) {
  for (const char* text : {"", "host", ":80", "host:", "host:port", "host:65536", "host:-1", "host:80x"})
    EXPECT_THAT(Where::find(text).status().message(), HasSubstr("HOST:PORT")) << text;
  EXPECT_FALSE(Where::find(std::string(10'000, 'x') + ":80").ok());
}

TEST(WhereTest, OfThisMachineInANetwork) {
  EXPECT_EQ(*own_address_in("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(*own_address_in("127.0.0.0/8"), "127.0.0.1");
  EXPECT_THAT(own_address_in("203.0.113.0/24").status().message(), HasSubstr("no address in 203.0.113.0/24; it has "));
  for (const std::string text : {"", "localhost", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "::1/129"})
    EXPECT_THAT(own_address_in(text).status().message(), HasSubstr("is neither an address nor a network")) << text;
}

} // namespace
} // namespace dlhost::plugins::meeting
