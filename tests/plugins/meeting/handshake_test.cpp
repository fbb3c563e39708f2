#include "meeting/handshake.h"

#include <gmock/gmock.h>

namespace dlhost::plugins::meeting {
namespace {

using testing::HasSubstr;

constexpr std::string_view protocol = "a-test";
constexpr Secret ours{1, 2, 3}, theirs{1, 2, 4};
constexpr Ticket ticket{.number = 7, .token = 99};

// The messages of both sides, in order.
class Meeting {
 public:
  explicit Meeting(const Secret& of_caller = ours, const Secret& of_callee = ours)
      : caller(Handshake::call(protocol, of_caller, "A", "B")), callee(Handshake::answer(protocol, of_callee, "B")),
        hello(caller.begin()) {}
  Status until_proof() {
    DLHOST_TRY(callee.take(hello, challenge));
    DLHOST_TRY(caller.take(challenge, proof));
    return callee.take(proof, rest);
  }
  Status to_its_end() {
    DLHOST_TRY(until_proof());
    callee.welcome(ticket, welcome);
    return caller.take(welcome, rest);
  }

  Handshake caller, callee;
  std::string hello, challenge, proof, welcome, rest;
};

TEST(HandshakeTest, WhoKnowsTheSecretGetsATicket) {
  Meeting meeting;
  ASSERT_TRUE(meeting.to_its_end().ok());
  EXPECT_TRUE(meeting.caller.done());
  EXPECT_TRUE(meeting.callee.done());
  EXPECT_EQ(meeting.callee.theirs(), "A");
  EXPECT_EQ(meeting.caller.ticket().number, ticket.number);
  EXPECT_EQ(meeting.caller.ticket().token, ticket.token);
  EXPECT_EQ(meeting.rest, "");
}

TEST(HandshakeTest, BytesMayComeOneByOne) {
  Meeting meeting;
  const auto feed = [](Handshake& to, const std::string& bytes, std::string& out) {
    for (const char byte : bytes) ASSERT_TRUE(to.take({&byte, 1}, out).ok());
  };
  feed(meeting.callee, meeting.hello, meeting.challenge);
  feed(meeting.caller, meeting.challenge, meeting.proof);
  feed(meeting.callee, meeting.proof, meeting.rest);
  ASSERT_TRUE(meeting.callee.has_proof());
  meeting.callee.welcome(ticket, meeting.welcome);
  feed(meeting.caller, meeting.welcome, meeting.rest);
  EXPECT_TRUE(meeting.caller.done());
}

TEST(HandshakeTest, WhoDoesNotKnowItDoesNot) {
  Meeting stranger(theirs, ours);
  EXPECT_THAT(stranger.until_proof().message(), HasSubstr("does not know this job's secret"));
  // The caller goes on with a made-up proof.
  Handshake callee = Handshake::answer(protocol, ours, "B");
  std::string challenge, rest;
  ASSERT_TRUE(callee.take(Handshake::call(protocol, theirs, "A", "B").begin(), challenge).ok());
  EXPECT_FALSE(callee.take(std::string(32, 'x'), rest).ok());
  EXPECT_FALSE(callee.has_proof());
}

TEST(HandshakeTest, WhatWasOverheardIsOfNoUse) {
  Meeting meeting;
  ASSERT_TRUE(meeting.to_its_end().ok());
  Handshake callee = Handshake::answer(protocol, ours, "B");
  std::string challenge, rest;
  ASSERT_TRUE(callee.take(meeting.hello, challenge).ok());
  EXPECT_NE(challenge, meeting.challenge);
  EXPECT_FALSE(callee.take(meeting.proof, rest).ok());
  // A caller refuses a callee that repeats another's messages.
  Handshake caller = Handshake::call(protocol, ours, "A", "B");
  EXPECT_FALSE(caller.take(meeting.challenge, rest).ok());
  // A side's own messages prove nothing to it.
  Handshake mirrored = Handshake::call(protocol, ours, "A", "B");
  Handshake mirror = Handshake::call(protocol, ours, "A", "B");
  EXPECT_FALSE(mirrored.take(mirror.begin() + mirror.begin(), rest).ok());
}

TEST(HandshakeTest, OneChangedBitIsSeen) {
  const auto changed = [](std::string text, std::size_t bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    return text;
  };
  for (std::size_t bit = 0; bit < 8 * 40; bit += 7) {
    Meeting meeting;
    ASSERT_TRUE(meeting.until_proof().ok());
    meeting.callee.welcome(ticket, meeting.welcome);
    EXPECT_FALSE(meeting.caller.take(changed(meeting.welcome, bit), meeting.rest).ok()) << "a ticket's bit " << bit;
  }
  for (std::size_t bit = 0; bit < 8 * 64; bit += 7) {
    Meeting meeting;
    ASSERT_TRUE(meeting.callee.take(meeting.hello, meeting.challenge).ok());
    EXPECT_FALSE(meeting.caller.take(changed(meeting.challenge, bit), meeting.proof).ok()) << "a challenge's " << bit;
  }
  for (std::size_t bit = 0; bit < 8 * 53; bit += 7) { // the last byte is the caller's address
    Meeting meeting;
    meeting.hello = changed(meeting.hello, bit);
    EXPECT_FALSE(meeting.until_proof().ok() && meeting.callee.has_proof()) << "a hello's bit " << bit;
  }
}

TEST(HandshakeTest, OtherWordsAreRefusedAtOnce) {
  std::string rest;
  EXPECT_THAT(Handshake::answer(protocol, ours, "B").take(std::string("GET / HTTP/1.1"), rest).message(),
              HasSubstr("does not speak this protocol"));
  Meeting meeting;
  meeting.hello.replace(meeting.hello.size() - 5, 4, "\xff\xff\xff\x7f", 4);
  EXPECT_THAT(meeting.callee.take(meeting.hello, rest).message(), HasSubstr("a name of 2147483647 bytes"));
  EXPECT_EQ(rest, "");
}

} // namespace
} // namespace dlhost::plugins::meeting
