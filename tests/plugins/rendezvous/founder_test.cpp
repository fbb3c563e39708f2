// Members at an embedded place in one process: what becomes of them when one dies, falls silent, or is a stranger.
#include "founder.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include <gmock/gmock.h>

#include "env/process/process.h"
#include "env/real_host.h"
#include "guest.h"

namespace dlhost::plugins::rendezvous {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds moment = 1'000'000'000;
constexpr JobSecret secret{4, 2};

class FounderTest : public testing::Test {
 protected:
  void open(std::uint32_t expected = 0, Nanoseconds silence = 10 * moment) {
    terms_.silence = silence;
    auto made = Founder::open(host_, {"127.0.0.1", 0}, terms_, expected);
    ASSERT_TRUE(made.ok()) << made.status().message();
    place_ = *std::move(made);
  }
  Result<std::unique_ptr<Guest>> try_join(std::uint32_t rank, Nanoseconds limit, std::uint32_t expected = 0) {
    return Guest::join(host_, place_->address(), terms_,
                       {.self = {.rank = rank, .address = "somewhere", .host = "here"}, .expected = expected}, limit);
  }
  std::unique_ptr<Guest> join(std::uint32_t rank) {
    auto made = try_join(rank, 20 * moment);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : nullptr;
  }
  meeting::Where where() { return *meeting::Where::find(place_->address()); }

  env::RealHost host_{LogLevel::error};
  meeting::Terms terms_{.protocol = "embedded", .secret = secret, .own = {}};
  std::unique_ptr<Founder> place_;
};

TEST_F(FounderTest, MembersComeAndGo) {
  open();
  auto one = join(any_rank), other = join(any_rank);
  EXPECT_EQ(one->rank(), 0U);
  EXPECT_EQ(other->rank(), 1U);
  const Membership before = *one->membership(1, 20 * moment);
  ASSERT_EQ(before.members.size(), 2U);
  other->leave("it is tired");
  const Membership after = *one->membership(before.epoch, 20 * moment);
  ASSERT_EQ(after.departures.size(), 1U);
  EXPECT_EQ(after.departures[0].why, "it is tired");
  EXPECT_THAT(other->put("x", "y").message(), HasSubstr("has left"));
}

TEST_F(FounderTest, WhoIsMissingIsNamed) {
  open(3);
  const auto joined = try_join(1, moment / 2, 3);
  EXPECT_EQ(joined.status().code(), Code::timeout);
  EXPECT_THAT(joined.status().message(), HasSubstr("1 of 3 members have come"));
  EXPECT_THAT(joined.status().message(), HasSubstr("missing: rank 0, 2"));
  EXPECT_THAT(try_join(0, moment, 2).status().message(), HasSubstr("it waits for 2 members"));
}

TEST_F(FounderTest, ARankIsWaitedForUntilItIsFree) {
  open();
  auto first = join(5);
  const auto refused = try_join(5, moment / 3);
  EXPECT_EQ(refused.status().code(), Code::exists);
  EXPECT_THAT(refused.status().message(), HasSubstr("rank 5 is in already, from host 'here'"));
  auto later = host_.tasks().start("later", [&] {
    host_.clock().sleep(moment / 5);
    first.reset();
  });
  EXPECT_TRUE(try_join(5, 20 * moment).ok());
  later->join();
}

TEST_F(FounderTest, NobodyThereIsToldInTime) {
  open();
  const std::string address = place_->address();
  place_.reset();
  const Nanoseconds begin = host_.clock().now();
  const auto joined = Guest::join(host_, address, terms_, {}, moment / 2);
  EXPECT_EQ(joined.status().code(), Code::timeout);
  EXPECT_THAT(joined.status().message(), HasSubstr(address));
  EXPECT_LT(host_.clock().now() - begin, 5 * moment);
}

TEST_F(FounderTest, WhoKnowsAnotherSecretIsToldAtOnce) {
  open();
  meeting::Terms wrong = terms_;
  wrong.secret = {9};
  const Nanoseconds begin = host_.clock().now();
  const auto joined = Guest::join(host_, place_->address(), wrong, {}, 20 * moment);
  EXPECT_THAT(joined.status().message(), HasSubstr("does not know this job's secret"));
  EXPECT_LT(host_.clock().now() - begin, 5 * moment);
}

TEST_F(FounderTest, TheFoundersEndIsSeen) {
  open();
  auto one = join(0);
  const auto epoch = one->membership(0, moment)->epoch;
  place_.reset();
  const auto next = one->membership(epoch, 20 * moment);
  EXPECT_EQ(next.status().code(), Code::gone);
  EXPECT_THAT(next.status().message(), HasSubstr("the founder at 127.0.0.1:"));
  EXPECT_EQ(one->get("x", 20 * moment).status().code(), Code::gone);
}

// A process that joins and is then stopped or killed. Where it joins stands in its environment.
class Child {
 public:
  explicit Child(const std::string& address) {
    setenv("DLHOST_TEST_FOUNDER", address.c_str(), 1);
    auto started = env::Process::start_own(
        {"--gtest_also_run_disabled_tests", "--gtest_filter=FounderTest.DISABLED_AChildJoins"}, "/dev/stderr");
    unsetenv("DLHOST_TEST_FOUNDER");
    EXPECT_TRUE(started.ok()) << started.status().message();
    if (started.ok()) process_ = *std::move(started);
  }
  void end(int signal) { kill(process_->number(), signal); }

 private:
  std::unique_ptr<env::Process> process_;
};

TEST_F(FounderTest, DISABLED_AChildJoins) {
  const char* address = getenv("DLHOST_TEST_FOUNDER");
  ASSERT_NE(address, nullptr) << "the test of a dead member runs this";
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  terms_.silence = 2 * moment;
  auto joined = Guest::join(host_, address, terms_, {.self = {.rank = 7, .address = "", .host = "child"}}, 20 * moment);
  while (joined.ok()) {
    const auto leads = (*joined)->try_lead("it");
    if (!leads.ok()) break;
    if (*leads) pause();
    host_.clock().sleep(5'000'000);
  }
}

TEST_F(FounderTest, ADeadMemberIsSeenAtOnceAndASilentOneSoon) {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    const auto test_of = std::string(signal == SIGKILL ? "killed" : "stopped");
    open(0, 2 * moment);
    Child child(place_->address());
    auto one = join(0);
    Membership seen = *one->membership(0, moment);
    while (seen.members.size() < 2) {
      const auto next = one->membership(seen.epoch, 20 * moment);
      ASSERT_TRUE(next.ok()) << next.status().message();
      seen = *next;
    }
    const Nanoseconds end = host_.clock().now() + 20 * moment;
    while (*one->try_lead("it") && host_.clock().now() < end) { // it does not lead yet: let it
      one.reset();
      host_.clock().sleep(moment / 10);
      one = join(0);
    }
    seen = *one->membership(0, moment);
    const Nanoseconds begin = host_.clock().now();
    child.end(signal);
    const auto after = one->membership(seen.epoch, 20 * moment);
    ASSERT_TRUE(after.ok()) << test_of;
    EXPECT_LT(host_.clock().now() - begin, 10 * moment) << test_of;
    ASSERT_EQ(after->departures.size(), 1U) << test_of;
    EXPECT_EQ(after->departures[0].who.rank, 7U) << test_of;
    EXPECT_THAT(after->departures[0].why, HasSubstr(signal == SIGKILL ? "ended" : "has said nothing for")) << test_of;
    EXPECT_TRUE(*one->try_lead("it")) << test_of << ": its leadership ends with it";
    one.reset();
    place_.reset();
  }
}

// A socket to the founder, with nothing behind it.
class Caller {
 public:
  explicit Caller(const meeting::Where& where) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto place = *where.place();
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&place.bytes), place.size), 0);
  }
  void say(std::string_view bytes) { ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  std::string hear() {
    char bytes[4096];
    const timeval limit{20, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const ssize_t come = recv(socket_.get(), bytes, sizeof bytes, 0);
    return come > 0 ? std::string(bytes, static_cast<std::size_t>(come)) : "";
  }

 private:
  meeting::Socket socket_;
};

TEST_F(FounderTest, StrangersGetNowhereAndStopNobody) {
  open();
  auto one = join(0);
  std::mt19937 random(1);
  std::string noise(4000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  // One that is overheard: it knows the secret; what it says is said again.
  auto good = meeting::Handshake::call("embedded", secret, "member", "founder");
  const std::string hello = good.begin();
  std::string proof, rest;
  Caller overheard(where());
  overheard.say(hello);
  ASSERT_TRUE(good.take(overheard.hear(), proof).ok());
  overheard.say(proof);
  ASSERT_TRUE(good.take(overheard.hear(), rest).ok());
  ASSERT_TRUE(good.done());
  meeting::Frames frames(good.key("of the caller"), good.key("of the callee"));
  std::string claim;
  ASSERT_TRUE(frames.seal(encode({.kind = Words::Kind::join, .number = 1, .members = {{.rank = 3}}}), claim).ok());
  overheard.say(claim);

  std::vector<std::unique_ptr<Caller>> callers;
  const auto call = [&]() -> Caller& { return *callers.emplace_back(std::make_unique<Caller>(where())); };
  call().say(noise);
  call().say("GET / HTTP/1.1\r\n\r\n");
  call().say(meeting::Handshake::call("embedded", {}, "member", "founder").begin() + noise); // another secret
  call().say(meeting::Handshake::call("fabric", secret, "member", "founder").begin());       // another protocol
  call().say(hello.substr(0, hello.size() - 10) + "\xff\xff\xff\x7f" + noise);               // a name without an end
  call().say(hello + proof);                                                                 // said again
  call().say(hello + proof + claim);    // said again, with a rank that it claims
  for (int i = 0; i < 300; ++i) call(); // and say nothing
  Caller& late = call();
  late.say(noise);

  auto other = join(1);
  for (int round = 0; round < 20; ++round) {
    Membership seen = *one->membership(0, 20 * moment);
    while (seen.members.size() < 3) seen = *one->membership(seen.epoch, 20 * moment);
    EXPECT_EQ(seen.members.size(), 3U) << "0, 1 and the one that was overheard";
    ASSERT_TRUE(other->membership(seen.epoch - 1, 20 * moment).ok());
    ASSERT_TRUE(one->put(concat("key ", round), noise).ok());
    EXPECT_EQ(*other->get(concat("key ", round), 20 * moment), noise);
  }
  const Nanoseconds end = host_.clock().now() + 20 * moment;
  while (place_->strangers() < 300 - 128 + 6 && host_.clock().now() < end) host_.clock().sleep(10'000'000);
  EXPECT_GE(place_->strangers(), 300U - 128 + 6);
}

// One who knows the secret and says what it should not is out, and nobody else.
TEST_F(FounderTest, AMemberThatMisbehavesIsOut) {
  open();
  auto one = join(0);
  const std::string before = encode({.kind = Words::Kind::put, .number = 1, .key = "x"});
  const std::string huge("\xff\xff\xff\x7f", 4);
  const std::string no_message = "\xff\xff no message";
  int asked = 0;
  for (const std::string& words : {before, no_message, std::string()}) {
    auto caller = meeting::Handshake::call("embedded", secret, "member", "founder");
    Caller socket(where());
    std::string out, rest;
    socket.say(caller.begin());
    ASSERT_TRUE(caller.take(socket.hear(), out).ok());
    socket.say(out);
    ASSERT_TRUE(caller.take(socket.hear(), rest).ok());
    meeting::Frames frames(caller.key("of the caller"), caller.key("of the callee"));
    std::string said;
    if (words.empty())
      said = huge;
    else
      ASSERT_TRUE(frames.seal(words, said).ok());
    socket.say(said);
    while (!socket.hear().empty()) {
    }
    ASSERT_TRUE(one->put(concat("after ", ++asked), "x").ok());
  }
  EXPECT_EQ(one->membership(0, moment)->members.size(), 1U);
}

} // namespace
} // namespace dlhost::plugins::rendezvous
