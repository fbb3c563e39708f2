// Endpoints of one process: what strangers do to them, and what becomes of messages at an end.
#include "endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <random>

#include <gmock/gmock.h>

#include "env/real_host.h"

namespace dlhost::plugins::fabric {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds second = 1'000'000'000;
constexpr Secret secret{4, 2};

class EndpointTest : public testing::Test {
 protected:
  std::unique_ptr<FabricEndpoint> open(std::string_view name) {
    auto made = FabricEndpoint::open(host_, name, {.provider = "tcp", .secret = secret});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::unique_ptr<FabricEndpoint>(static_cast<FabricEndpoint*>(made->release()));
  }
  // One turn of each; what is done is added to the end of its list.
  void turn(FabricEndpoint& endpoint, std::vector<Completion>& into) {
    Completion made[8];
    const auto count = endpoint.progress(made, 1'000'000);
    ASSERT_TRUE(count.ok());
    into.insert(into.end(), made, made + *count);
  }
  template <class Enough> void until(const std::vector<FabricEndpoint*>& all, Enough&& enough) {
    const Nanoseconds end = host_.clock().now() + 20 * second;
    done_.resize(all.size());
    while (!enough()) {
      ASSERT_LT(host_.clock().now(), end) << "nothing more happens";
      for (std::size_t i = 0; i < all.size(); ++i) turn(*all[i], done_[i]);
    }
  }
  static std::ptrdiff_t count(const std::vector<Completion>& done, Completion::Kind kind) {
    return std::ranges::count(done, kind, &Completion::kind);
  }

  env::RealHost host_{LogLevel::error};
  std::vector<std::vector<Completion>> done_;
};

// A socket to an endpoint, with nothing behind it.
class Caller {
 public:
  explicit Caller(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(Address::parse(address)->port);
    inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  }
  void say(std::string_view bytes) { ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // What has come by now; nothing: "", its end: "end".
  std::string hear() {
    char bytes[1024];
    const ssize_t come = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return come > 0 ? std::string(bytes, static_cast<std::size_t>(come)) : come == 0 ? "end" : "";
  }

 private:
  Socket socket_;
};

TEST_F(EndpointTest, StrangersGetNowhereAndStopNobody) {
  auto one = open("one"), other = open("other");
  const PeerId to = *one->connect(other->address());
  std::vector<std::unique_ptr<Caller>> callers;
  const auto call = [&]() -> Caller& { return *callers.emplace_back(std::make_unique<Caller>(other->address())); };
  std::mt19937 random(1);
  std::string noise(4000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  // One that is overheard: it knows the secret, and what it says is said again.
  meeting::Handshake good = meeting::Handshake::call("fabric", secret, one->address() + "0", other->address());
  const std::string hello = good.begin();
  std::string proof;
  Caller& overheard = call();
  overheard.say(hello);
  until({other.get()}, [&] {
    const std::string heard = overheard.hear();
    return !heard.empty() && good.take(heard, proof).ok();
  });
  // Each of what strangers do.
  call().say(noise);
  call().say("GET / HTTP/1.1\r\n\r\n");
  call().say(meeting::Handshake::call("fabric", {}, one->address(), other->address()).begin() +
             noise); // claims to be `one`
  std::string endless = hello.substr(0, 48);
  call().say(endless + "\xff\xff\xff\x7f" + noise); // announces an address without an end
  Caller& again = call();
  again.say(hello);
  again.say(proof);
  std::vector<Completion> none;
  for (int i = 0; i < 300; ++i) { // and say nothing
    call();
    if (i % 50 == 0) turn(*other, none);
  }
  Caller& late = call();
  late.say(noise);

  std::vector<std::byte> room(64), message(64, std::byte{9});
  std::ptrdiff_t wanted = 0;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(other->post_recv(room, 1).ok());
    ASSERT_TRUE(one->post_send(to, 5, message, 2).ok());
    ++wanted;
    until({one.get(), other.get()},
          [&] { return done_.size() == 2 && count(done_[1], Completion::Kind::received) == wanted; });
    EXPECT_EQ(room, message);
  }
  until({one.get(), other.get()}, [&] { return other->strangers() >= 300 - 128 + 6; });
  for (Caller* const one_of : {&again, &late}) {
    std::string heard;
    for (std::string more = one_of->hear(); !more.empty() && more != "end" && heard.size() < 1000;
         more = one_of->hear())
      heard += more;
    EXPECT_LE(heard.size(), 64U) << "a challenge, and never a welcome";
  }
  EXPECT_EQ(count(done_[0], Completion::Kind::gone) + count(done_[1], Completion::Kind::gone), 0);
}

// Whoever finds the way onto the wire has no ticket.
TEST_F(EndpointTest, MessagesWithoutATicketAreDropped) {
  auto one = open("one"), other = open("other");
  const PeerId to = *one->connect(other->address());
  std::vector<std::byte> room(64), message(64, std::byte{9});
  ASSERT_TRUE(other->post_recv(room, 1).ok());
  ASSERT_TRUE(one->post_send(to, 5, message, 2).ok());
  until({one.get(), other.get()},
        [&] { return done_.size() == 2 && count(done_[1], Completion::Kind::received) == 1; });

  auto wire = Wire::open("tcp", "127.0.0.1");
  ASSERT_TRUE(wire.ok()) << wire.status().message();
  const auto peer = wire->insert(Address::parse(other->address())->wire);
  ASSERT_TRUE(peer.ok());
  const std::vector<std::byte> forged(64, std::byte{66});
  ASSERT_TRUE(other->post_recv(room, 1).ok());
  for (const std::uint64_t mark : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{12345} << 24}) {
    const std::uint64_t before = other->strays();
    fi_cq_tagged_entry done;
    until({one.get(), other.get()}, [&] {
      fi_cq_read(wire->queue(), &done, 1);
      return fi_tinjectdata(wire->endpoint(), forged.data(), forged.size(), mark, *peer, 5) == 0;
    });
    until({one.get(), other.get()}, [&] { return fi_cq_read(wire->queue(), &done, 1), other->strays() > before; });
  }
  EXPECT_EQ(count(done_[1], Completion::Kind::received), 1);
  ASSERT_TRUE(one->post_send(to, 6, message, 2).ok());
  until({one.get(), other.get()}, [&] { return count(done_[1], Completion::Kind::received) == 2; });
  EXPECT_EQ(done_[1].back().tag, 6U);
  EXPECT_EQ(room, message) << "the honest go on";
}

TEST_F(EndpointTest, WhatWasSentBeforeAnEndArrivesBeforeIt) {
  auto other = open("other");
  constexpr std::size_t messages = 200, large = 200'000;
  std::vector<std::vector<std::byte>> rooms(messages, std::vector<std::byte>(large));
  for (auto& room : rooms) ASSERT_TRUE(other->post_recv(room, 1).ok());
  auto sender = host_.tasks().start("sender", [&] {
    const std::vector<std::byte> message(large, std::byte{7});
    auto one = open("one");
    const PeerId to = *one->connect(other->address());
    for (std::size_t i = 0; i < messages; ++i)
      ASSERT_TRUE(one->post_send(to, i, std::span(message).first(i % 5 == 0 ? large : 30), i).ok());
    std::vector<Completion> sent;
    while (sent.size() < messages) turn(*one, sent);
  });
  until({other.get()}, [&] { return count(done_[0], Completion::Kind::gone) == 1; });
  sender->join();
  ASSERT_EQ(done_[0].size(), messages + 1);
  for (std::size_t i = 0; i < messages; ++i) ASSERT_EQ(done_[0][i].tag, i);
}

TEST_F(EndpointTest, WhoIsNotThereIsGone) {
  auto one = open("one");
  std::string nobody;
  { nobody = open("nobody")->address(); }
  const auto to = one->connect(nobody);
  if (!to.ok()) return; // refused at once
  const std::vector<std::byte> message(64);
  const Status posted = one->post_send(*to, 5, message, 2);
  EXPECT_TRUE(posted.ok() || posted.code() == Code::gone) << posted.message();
  until({one.get()}, [&] { return count(done_[0], Completion::Kind::gone) == 1; });
  EXPECT_THAT(one->post_send(*to, 5, message, 2).message(), HasSubstr("the peer 'nobody' at 127.0.0.1:"));
}

TEST_F(EndpointTest, BothSidesHaveToSpeakTheSame) {
  auto one = open("one");
  auto other = FabricEndpoint::open(host_, "other", {.provider = "net", .secret = secret});
  if (!other.ok()) GTEST_SKIP() << other.status().message();
  EXPECT_THAT(one->connect((*other)->address()).status().message(), HasSubstr("'other' at 127.0.0.1:"));
  EXPECT_THAT(one->connect((*other)->address()).status().message(), HasSubstr("give both the same provider"));
  const auto none = FabricEndpoint::open(host_, "none", {.provider = "carrier-pigeon"});
  EXPECT_THAT(none.status().message(), HasSubstr("tried: carrier-pigeon"));
}

} // namespace
} // namespace dlhost::plugins::fabric
