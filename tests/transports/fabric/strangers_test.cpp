// Attempts of strangers on endpoints, at the meeting socket and on the wire.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <list>
#include <random>

#include "endpoints.h"
#include "relay.h"

namespace dlhost::plugins::fabric {
namespace {

using testing::AllOf, testing::HasSubstr;

std::string noise(std::size_t bytes) {
  std::mt19937 random(1);
  std::string made(bytes, '\0');
  for (char& byte : made) byte = static_cast<char>(random());
  return made;
}

sockaddr_in place_on_the_wire(const FabricEndpoint& of) { return place_of(Address::parse(of.address())->wire); }

// A bare socket to an endpoint.
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
  // The bytes that have come; "": none, "end": the connection has ended.
  std::string hear() {
    char bytes[1024];
    const ssize_t come = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return come > 0 ? std::string(bytes, static_cast<std::size_t>(come)) : come == 0 ? "end" : "";
  }

 private:
  Socket socket_;
};

// A stranger's wire: libfabric's bytes, changed on the way, and then no more.
class Stranger {
 public:
  Stranger(const FabricEndpoint& to, Relay::Change change)
      : wire_(*Wire::open("tcp", "127.0.0.1")), relay_(place_on_the_wire(to), std::move(change)),
        to_(*wire_.insert(relay_.name())) {}
  // Continues; true after the changed bytes have left.
  bool says(std::uint64_t data, std::uint64_t tag) {
    relay_.turn();
    if (!posted_) posted_ = fi_tinjectdata(wire_.endpoint(), bytes_.data(), bytes_.size(), data, to_, tag) == 0;
    fi_cq_tagged_entry entry;
    fi_cq_read(wire_.queue(), &entry, 1);
    return relay_.changed();
  }

 private:
  Wire wire_;
  Relay relay_;
  fi_addr_t to_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(64, std::byte{66});
  bool posted_ = false;
};

// A peer that has met an endpoint, and then sends arbitrary stamps over the wire.
class Member {
 public:
  explicit Member(const FabricEndpoint& to)
      : wire_(*Wire::open("tcp", "127.0.0.1")), to_(*wire_.insert(Address::parse(to.address())->wire)),
        own_{.name = "member", .provider = wire_.provider(), .host = "127.0.0.1", .port = 1, .wire = *wire_.name()},
        link_(*Link::call({.protocol = "fabric", .secret = secret, .own = own_.text()},
                          Address::parse(to.address())->where(), to.address())) {}
  bool has_met() {
    EXPECT_TRUE(link_->turn().ok());
    return link_->has_met();
  }
  Stamps stamps() const { return Stamps(*link_); }
  bool says(const Stamp& stamp) {
    fi_cq_tagged_entry entry;
    fi_cq_read(wire_.queue(), &entry, 1);
    return fi_tinjectdata(wire_.endpoint(), bytes_.data(), bytes_.size(), stamp.data, to_, stamp.tag) == 0;
  }

 private:
  Wire wire_;
  fi_addr_t to_;
  Address own_;
  std::unique_ptr<Link> link_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(64, std::byte{66});
};

class StrangersTest : public EndpointTest {
 protected:
  void say(Member& member, FabricEndpoint& to, const Stamp& stamp) {
    until({&to}, [&] { return member.says(stamp); });
  }
  std::vector<std::uint64_t> tags_of_received() const {
    std::vector<std::uint64_t> tags;
    for (const Completion& one : done_[0])
      if (one.kind == Completion::Kind::received) tags.push_back(one.tag);
    return tags;
  }
};

TEST_F(StrangersTest, StrangersGetNowhereAndStopNobody) {
  auto one = open("one"), other = open("other");
  const PeerId to = *one->connect(other->address());
  std::vector<std::unique_ptr<Caller>> callers;
  const auto call = [&]() -> Caller& { return *callers.emplace_back(std::make_unique<Caller>(other->address())); };
  const std::string noise = fabric::noise(4000);
  // The overheard handshake has the secret; its messages are repeated below.
  meeting::Handshake good = meeting::Handshake::call("fabric", secret, one->address() + "0", other->address());
  const std::string hello = good.begin();
  std::string proof;
  Caller& overheard = call();
  overheard.say(hello);
  until({other.get()}, [&] {
    const std::string heard = overheard.hear();
    return !heard.empty() && good.take(heard, proof).ok();
  });
  // The strangers' attempts.
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
  for (int i = 0; i < 300; ++i) { // silent callers
    call();
    if (i % 50 == 0) turn(*other, none);
  }
  Caller& late = call();
  late.say(noise);

  exchange(*one, to, *other, 20);
  until({one.get(), other.get()}, [&] { return other->strangers() >= 300 - 128 + 6; });
  for (Caller* const one_of : {&again, &late}) {
    std::string heard;
    for (std::string more = one_of->hear(); !more.empty() && more != "end" && heard.size() < 1000;
         more = one_of->hear())
      heard += more;
    EXPECT_LE(heard.size(), 64U) << "a challenge, and never a welcome";
  }
}

TEST_F(StrangersTest, NoiseOnTheWireStopsNobody) {
  auto one = open("one"), other = open("other");
  const PeerId to = *one->connect(other->address());
  exchange(*one, to, *other, 5);
  std::list<Socket> callers;
  const auto call_wire = [&](std::string_view bytes) {
    for (const FabricEndpoint* of : {one.get(), other.get()})
      fabric::say(callers.emplace_back(fabric::call(place_on_the_wire(*of))), bytes);
  };
  call_wire(noise(4000));
  call_wire("GET / HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 50; ++i) call_wire(""); // silent callers
  std::string head = "\x03" + std::string(15, '\0');
  head[6] = 16;      // the head's own size
  head[15] = '\x80'; // plus 2^63
  call_wire(head + noise(4000));
  // Also a stranger that libfabric has let in.
  Stranger endless(*other, [](std::string& bytes) {
    ASSERT_GE(bytes.size(), 16U);
    bytes[8] = bytes[15] = '\x80'; // the size's top byte, in either byte order
  });
  until({one.get(), other.get()}, [&] { return endless.says(0, 5); });
  exchange(*one, to, *other, 20);
  const PeerId back = *other->connect(one->address());
  std::swap(done_[0], done_[1]);
  exchange(*other, back, *one, 20);
}

// Strangers' partial messages take none of the rooms for the job's messages.
TEST_F(StrangersTest, WhatIsHalfSaidHoldsNoRoom) {
  auto one = open("one"), other = open("other");
  const PeerId to = *one->connect(other->address());
  exchange(*one, to, *other, 1);
  constexpr std::size_t rooms = 4;
  std::vector<std::vector<std::byte>> room(rooms, std::vector<std::byte>(64));
  for (auto& one_of : room) ASSERT_TRUE(other->post_recv(one_of, 1).ok());
  std::list<Stranger> strangers;
  for (std::size_t i = 0; i < rooms; ++i) {
    auto& stranger = strangers.emplace_back(*other, [](std::string& bytes) { bytes.resize(bytes.size() - 40); });
    until({one.get(), other.get()}, [&] { return stranger.says(i, 5); });
  }
  std::vector<Completion> meanwhile;
  for (int i = 0; i < 50; ++i) turn(*other, meanwhile);
  EXPECT_TRUE(meanwhile.empty());
  const std::vector<std::byte> message(64, std::byte{9});
  for (std::size_t i = 0; i < rooms; ++i) ASSERT_TRUE(one->post_send(to, 6, message, 2).ok());
  until({one.get(), other.get()}, [&] { return count(done_[1], Completion::Kind::received) == 1 + rooms; });
  for (const auto& one_of : room) EXPECT_EQ(one_of, message);
}

// A stranger may find the wire, but does not know the token.
TEST_F(StrangersTest, MessagesWithoutTheTokenNeverArrive) {
  auto one = open("one"), other = open("other");
  const PeerId to = *one->connect(other->address());
  exchange(*one, to, *other, 1);
  auto wire = Wire::open("tcp", "127.0.0.1");
  ASSERT_TRUE(wire.ok()) << wire.status().message();
  const auto peer = wire->insert(Address::parse(other->address())->wire);
  ASSERT_TRUE(peer.ok());
  const std::vector<std::byte> forged(64, std::byte{66});
  for (const std::uint64_t mark : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{12345} << 32}) {
    fi_cq_tagged_entry done;
    until({one.get(), other.get()}, [&] {
      fi_cq_read(wire->queue(), &done, 1);
      return fi_tinjectdata(wire->endpoint(), forged.data(), forged.size(), mark, *peer, mark) == 0;
    });
  }
  exchange(*one, to, *other, 50); // each round checks its room
  EXPECT_EQ(other->strays(), 0U);
}

// A member with the token cannot use another sender's number, repeat a message, or send one far ahead.
TEST_F(StrangersTest, MessagesOutOfTurnAreDroppedCountedAndTold) {
  auto other = open("other");
  Member member(*other);
  until({other.get()}, [&] { return member.has_met(); });
  const Stamps stamps = member.stamps();
  std::vector<std::vector<std::byte>> rooms(8, std::vector<std::byte>(64));
  for (auto& room : rooms) ASSERT_TRUE(other->post_recv(room, 1).ok());
  say(member, *other, stamps.of(0, 10));
  say(member, *other, stamps.of(2, 12)); // early
  until({other.get()}, [&] { return tags_of_received().size() == 1; });
  const Stamp another{stamps.of(1, 11).data ^ std::uint64_t{1} << 50, stamps.of(1, 11).tag};
  for (const Stamp& out_of_turn :
       {stamps.of(0, 1), stamps.of(2, 2), stamps.of(1 + Stamps::window, 3), another, Stamp{0, stamps.of(0, 4).tag}}) {
    const std::uint64_t before = other->strays();
    say(member, *other, out_of_turn);
    until({other.get()}, [&] { return other->strays() > before; });
  }
  say(member, *other, stamps.of(1, 11));
  until({other.get()}, [&] { return tags_of_received().size() == 3; });
  EXPECT_THAT(tags_of_received(), testing::ElementsAre(10, 11, 12));
  EXPECT_EQ(other->strays(), 5U);
  EXPECT_THAT(host_.log().lines(), testing::ElementsAre(AllOf(HasSubstr("fabric:other"), HasSubstr(" 1 so far")),
                                                        HasSubstr(" 2 so far"), HasSubstr(" 4 so far")));
}

} // namespace
} // namespace dlhost::plugins::fabric
