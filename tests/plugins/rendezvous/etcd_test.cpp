// Members in a real etcd: after the death of a member or of etcd's leader, and without any etcd for a while.
#include "etcd_session.h"

#include <gmock/gmock.h>

#include "etcd_cluster.h"

namespace dlhost::plugins::rendezvous {
namespace {

using test::EtcdCluster;
using testing::HasSubstr;

constexpr Nanoseconds moment = 1'000'000'000;

class EtcdTest : public testing::Test {
 protected:
  void SetUp() override {
    if (EtcdCluster::program().empty()) GTEST_SKIP() << "there is no etcd here; ./dev setup --for test gets one";
  }
  EtcdSetup setup(const std::vector<std::string>& endpoints) const {
    return {.gateway = {.endpoints = endpoints, .patience = moment}, .job = "a-job", .lease = 3};
  }
  std::unique_ptr<Session> join(const std::vector<std::string>& endpoints, std::uint32_t rank,
                                std::uint32_t expected = 0) {
    auto made = EtcdSession::join(
        host_, setup(endpoints),
        {.self = {.rank = rank, .address = concat("at ", rank), .host = "here"}, .expected = expected}, 60 * moment);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : nullptr;
  }
  // The number of keys in all of etcd.
  std::int64_t keys(const std::string& endpoint) {
    Gateway gateway(host_, {.endpoints = {endpoint}, .patience = moment});
    const auto all = gateway.ask(
        "kv/range",
        {{"key", base64(std::string(1, '\0'))}, {"range_end", base64(std::string(1, '\0'))}, {"count_only", true}},
        host_.clock().now() + 20 * moment);
    EXPECT_TRUE(all.ok()) << all.status().message();
    return number_of(field(*all, "count"));
  }
  // `from` puts and `to` gets, in an epoch that both know.
  void exchange(Session& from, Session& to, const std::string& key) {
    std::uint32_t epoch = 1;
    for (Session* one : {&from, &to, &from}) {
      const auto seen = one->membership(epoch - 1, 60 * moment);
      ASSERT_TRUE(seen.ok()) << seen.status().message();
      epoch = seen->epoch;
    }
    Status put;
    const Nanoseconds end = host_.clock().now() + 60 * moment;
    do put = from.put(key, "value of " + key);
    while (put.code() == Code::timeout && host_.clock().now() < end);
    ASSERT_TRUE(put.ok() || put.code() == Code::exists) << put.message();
    const auto got = to.get(key, 60 * moment);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(*got, "value of " + key);
  }

  env::RealHost host_{LogLevel::error};
};

TEST_F(EtcdTest, MembersComeAndGoAndTheFirstAsWell) {
  EtcdCluster etcd(1);
  auto first = join(etcd.urls(), any_rank), second = join(etcd.urls(), any_rank);
  EXPECT_EQ(first->rank(), 0U);
  EXPECT_EQ(second->rank(), 1U);
  const JobSecret secret = first->secret();
  EXPECT_EQ(second->secret(), secret);
  Membership seen = *second->membership(0, moment);
  ASSERT_EQ(seen.members.size(), 2U);
  EXPECT_EQ(seen.members[0].address, "at " + std::to_string(any_rank));
  first->leave("it is tired");
  seen = *second->membership(seen.epoch, 20 * moment);
  ASSERT_EQ(seen.members.size(), 1U);
  ASSERT_EQ(seen.departures.size(), 1U);
  EXPECT_EQ(seen.departures[0].why, "it is tired");
  auto third = join(etcd.urls(), any_rank);
  EXPECT_EQ(third->rank(), 0U) << "the lowest that is free";
  EXPECT_EQ(third->secret(), secret) << "survives who made it";
  EXPECT_GT(third->membership(0, moment)->epoch, seen.epoch);
  exchange(*third, *second, "key");
  for (auto* one : {&first, &second, &third}) one->reset();
  EXPECT_EQ(keys(etcd.url(0)), 0) << "nothing is left behind";
}

TEST_F(EtcdTest, WhoIsOfNoUseHereIsTold) {
  const Nanoseconds begin = host_.clock().now();
  auto refused = EtcdSession::join(host_, setup({"http://127.0.0.1:1", "http://127.0.0.1:2"}), {}, moment / 2);
  EXPECT_EQ(refused.status().code(), Code::timeout);
  EXPECT_THAT(refused.status().message(), HasSubstr("no etcd at http://127.0.0.1:1, http://127.0.0.1:2 has answered"));
  EXPECT_LT(host_.clock().now() - begin, 10 * moment);

  EtcdCluster etcd(1);
  etcd.leader(host_);
  const auto with = [&](const Joining& who, Nanoseconds limit = moment) {
    return EtcdSession::join(host_, setup(etcd.urls()), who, limit).status();
  };
  auto one = *EtcdSession::join(host_, setup(etcd.urls()),
                                {.self = {.rank = 1, .host = "here"}, .secret = JobSecret{7}}, 20 * moment);
  EXPECT_EQ(one->secret(), JobSecret{7});
  EXPECT_THAT(with({.self = {.rank = 2}, .secret = JobSecret{8}}).message(), HasSubstr("know another secret"));
  EXPECT_THAT(with({.self = {.rank = 2}}).message(), HasSubstr("a launcher has handed this job's secret"));
  EXPECT_THAT(with({.self = {.rank = 1}, .secret = JobSecret{7}}).message(),
              HasSubstr("rank 1 is in already, from host 'here'"));
  const Status waited = with({.self = {.rank = 0}, .expected = 4, .secret = JobSecret{7}});
  EXPECT_EQ(waited.code(), Code::timeout);
  EXPECT_THAT(waited.message(), HasSubstr("2 of 4 members have come; missing: rank 2, 3"));
  // A member may wait for a rank for longer than a lease.
  auto later = host_.tasks().start("later", [&] {
    host_.clock().sleep(4 * moment);
    one.reset();
  });
  EXPECT_TRUE(with({.self = {.rank = 1}, .secret = JobSecret{7}}, 30 * moment).ok());
  later->join();
  EXPECT_EQ(keys(etcd.url(0)), 0);
}

TEST_F(EtcdTest, AMemberThatDiesIsOutWithItsLease) {
  EtcdCluster etcd(1);
  etcd.leader(host_);
  const pid_t child = fork(); // before any task
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto joined = EtcdSession::join(host_, setup(etcd.urls()), {.self = {.rank = 7, .host = "child"}, .expected = 2},
                                    20 * moment);
    if (joined.ok() && (*joined)->try_lead("it").ok() && (*joined)->put("leads", "it").ok()) pause();
    _exit(1);
  }
  auto one = join(etcd.urls(), 0, 2);
  EXPECT_TRUE(one->get("leads", 20 * moment).ok());
  EXPECT_FALSE(*one->try_lead("it"));
  Membership seen = *one->membership(0, moment);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto after = one->membership(seen.epoch, 30 * moment);
  ASSERT_TRUE(after.ok()) << after.status().message();
  ASSERT_EQ(after->departures.size(), 1U);
  EXPECT_EQ(after->departures[0].who.rank, 7U);
  EXPECT_THAT(after->departures[0].why, HasSubstr("its lease of 3 s has ended"));
  EXPECT_TRUE(*one->try_lead("it"));
  // A removed member learns its own rank and host.
  EXPECT_TRUE(one->report_gone(0, "it is of no use").ok());
  EXPECT_THAT(one->membership(after->epoch, 30 * moment).status().message(),
              HasSubstr("rank 0, this process on host 'here', is out: rank 0 reported it: it is of no use"));
}

TEST_F(EtcdTest, AJobBeginsAgainOnceTheDeadOfItsNameAreOut) {
  EtcdCluster etcd(1);
  etcd.leader(host_);
  const auto with = [&](const JobSecret& secret) {
    return EtcdSession::join(host_, setup(etcd.urls()), {.self = {.rank = 0}, .secret = secret}, 20 * moment);
  };
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork(); // before any task
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto joined = with({1});
    if (joined.ok() && write(told[1], "x", 1) == 1) pause();
    _exit(1);
  }
  close(told[1]);
  char in = 0;
  EXPECT_EQ(read(told[0], &in, 1), 1) << "it joined";
  close(told[0]);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  auto joined = with({2});
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  EXPECT_EQ((*joined)->secret(), JobSecret{2});
  joined->reset();
  EXPECT_EQ(keys(etcd.url(0)), 0);
}

TEST_F(EtcdTest, ALeaderLostAndRegainedOnlyDelays) {
  EtcdCluster etcd(3);
  etcd.leader(host_);
  std::vector<std::string> turned = etcd.urls();
  std::vector<std::unique_ptr<Session>> members;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    members.push_back(join(turned, rank));
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
  }
  ASSERT_TRUE(*members[1]->try_lead("it"));
  exchange(*members[0], *members[1], "before");
  const Membership before = *members[2]->membership(0, moment);
  ASSERT_EQ(before.members.size(), 3U);
  for (int round = 0; round < 2; ++round) {
    const std::size_t lost = etcd.leader(host_);
    etcd.kill(lost);
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      exchange(*members[rank], *members[(rank + 1) % 3], concat("without it ", round, " ", rank));
    etcd.start(lost);
    etcd.leader(host_);
    exchange(*members[2], *members[0], concat("with it again ", round));
  }
  host_.clock().sleep(4 * moment); // longer than a lease
  EXPECT_EQ(members[0]->membership(before.epoch, moment).status().code(), Code::timeout) << "nobody is out";
  EXPECT_TRUE(*members[1]->try_lead("it"));
  // A watch still brings news, through any member of etcd.
  members[1].reset();
  const auto after = members[2]->membership(before.epoch, 30 * moment);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(after->members.size(), 2U);
}

TEST_F(EtcdTest, AllOfEtcdMayBeAwayForLongerThanALease) {
  EtcdCluster etcd(3);
  etcd.leader(host_);
  auto one = join(etcd.urls(), 0), other = join(etcd.urls(), 1, 2);
  exchange(*other, *one, "before"); // `one` has heard of `other`
  const auto before = one->membership(0, moment)->epoch;
  for (std::size_t i = 0; i < 3; ++i) etcd.kill(i);
  const Nanoseconds begin = host_.clock().now();
  EXPECT_EQ(one->get("x", moment / 2).status().code(), Code::timeout);
  EXPECT_LT(host_.clock().now() - begin, 5 * moment) << "a limit holds";
  host_.clock().sleep(4 * moment);
  for (std::size_t i = 0; i < 3; ++i) etcd.start(i);
  etcd.leader(host_);
  exchange(*one, *other, "again");
  EXPECT_EQ(one->membership(before, 4 * moment).status().code(), Code::timeout)
      << "etcd gives all leases their time again";
}

} // namespace
} // namespace dlhost::plugins::rendezvous
