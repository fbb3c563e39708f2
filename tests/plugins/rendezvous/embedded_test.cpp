// The plugin: the place that a launcher founds, and the errors of wrong options.
#include <dlhost/rendezvous.h>

#include <gmock/gmock.h>

#include "plugin_host.h"

namespace dlhost::plugins::rendezvous {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds limit = 20'000'000'000;

class EmbeddedTest : public testing::Test {
 protected:
  std::unique_ptr<Rendezvous> embedded(std::vector<TableEntry> options) {
    return test::make<Rendezvous>(host_, "embedded", std::move(options));
  }
  test::PluginHost host_;
};

TEST_F(EmbeddedTest, ALauncherFoundsThePlaceAndOutlivesRank0) {
  const JobSecret secret{7};
  const auto launcher = embedded({{"at", test::value("127.0.0.1:0")}});
  ASSERT_TRUE(launcher->capabilities().founds);
  auto place = launcher->found(host_, {.expected = 2, .secret = secret});
  ASSERT_TRUE(place.ok()) << place.status().message();
  const auto plugin = embedded({{"at", test::value((*place)->address())}, {"rank_0_founds", test::value(false)}});
  std::unique_ptr<Session> members[2];
  std::vector<std::unique_ptr<Task>> tasks;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    tasks.push_back(host_.tasks().start("member", [&, rank] {
      auto joined = plugin->join(host_, {.self = {.rank = rank}, .secret = secret}, limit);
      EXPECT_TRUE(joined.ok()) << joined.status().message();
      if (joined.ok()) members[rank] = *std::move(joined);
    }));
  tasks.clear();
  ASSERT_TRUE(members[0] && members[1]);
  EXPECT_EQ(members[1]->secret(), secret);
  EXPECT_EQ(members[1]->expected(), 2U);
  const auto epoch = members[1]->membership(0, limit)->epoch;
  members[0].reset();
  const auto after = members[1]->membership(epoch, limit);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(after->members.size(), 1U);
  EXPECT_TRUE(members[1]->put("key", "value").ok());
}

TEST_F(EmbeddedTest, WrongOptionsAreTold) {
  const auto why = [&](std::vector<TableEntry> options) {
    return embedded(std::move(options))->join(host_, {.self = {.rank = 0}}, 200'000'000).status().message();
  };
  EXPECT_THAT(why({}), HasSubstr("the place where members meet is missing"));
  EXPECT_THAT(why({{"at", test::value("here")}}), HasSubstr("give HOST:PORT"));
  EXPECT_THAT(why({{"at", test::value("127.0.0.1:0")}, {"listen", test::value("203.0.113.0/24")}}),
              HasSubstr("this machine has no address in 203.0.113.0/24"));
  const auto first = embedded({{"at", test::value("127.0.0.1:0")}})->found(host_, {});
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(why({{"at", test::value((*first)->address())}}), HasSubstr("Address already in use"));
}

} // namespace
} // namespace dlhost::plugins::rendezvous
