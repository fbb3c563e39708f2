// What leaves an endpoint that is sealed: nobody else reads it, changes it, sends it once more, or makes it.
#include "param/message/encrypted_endpoint.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include <gtest/gtest.h>

#include "listening_host.h"

namespace dlhost::param {
namespace {

// A network in memory, of which all can be seen and changed.
struct Network {
  struct Parcel {
    std::string from, to;
    std::vector<std::byte> bytes;
  };
  std::deque<Parcel> parcels;
  std::map<std::string, std::span<std::byte>> memory; // by key
  std::vector<std::vector<std::byte>> put;            // what was
  int keys = 0;
};

class NetworkRegion final : public Region {
 public:
  NetworkRegion(Network& net, std::size_t bytes) : net_(net), bytes_(bytes), key_(std::to_string(++net.keys)) {
    net.memory[key_] = bytes_;
  }
  ~NetworkRegion() override { net_.memory.erase(key_); }
  std::span<std::byte> bytes() override { return bytes_; }
  std::string key() const override { return key_; }

 private:
  Network& net_;
  std::vector<std::byte> bytes_;
  const std::string key_;
};

class NetworkEndpoint final : public Endpoint {
 public:
  NetworkEndpoint(Network& net, std::string name) : net_(net), name_(std::move(name)) {}
  std::string address() const override { return name_; }
  Result<PeerId> connect(std::string_view address) override { return id_of(std::string(address)); }
  void disconnect(PeerId) override {}
  Status post_send(PeerId peer, std::uint64_t, std::span<const std::byte> bytes, std::uint64_t cookie) override {
    net_.parcels.push_back({name_, peers_.at(peer), {bytes.begin(), bytes.end()}});
    done_.push_back({.kind = Completion::Kind::sent, .peer = peer, .cookie = cookie});
    return {};
  }
  Status post_recv(std::span<std::byte> room, std::uint64_t cookie) override {
    rooms_.push_back({room, cookie});
    return {};
  }
  Result<std::unique_ptr<Region>> allocate(std::size_t bytes) override {
    return std::unique_ptr<Region>(new NetworkRegion(net_, bytes));
  }
  Result<std::unique_ptr<Region>> register_memory(std::span<std::byte>) override { return Status::unsupported("no"); }
  Status put(PeerId peer, std::span<const std::byte> from, std::string_view key, std::uint64_t offset,
             std::uint64_t cookie) override {
    std::copy(from.begin(), from.end(), net_.memory.at(std::string(key)).subspan(offset).begin());
    net_.put.emplace_back(from.begin(), from.end());
    done_.push_back({.kind = Completion::Kind::put, .peer = peer, .cookie = cookie});
    return {};
  }
  Status get(PeerId, std::span<std::byte>, std::string_view, std::uint64_t, std::uint64_t) override {
    return Status::unsupported("no");
  }
  Result<std::unique_ptr<Region>> map(PeerId, std::string_view) override { return Status::unsupported("no"); }
  Result<std::size_t> progress(std::span<Completion> into, Nanoseconds) override {
    while (!rooms_.empty()) {
      const auto mine =
          std::ranges::find_if(net_.parcels, [this](const Network::Parcel& parcel) { return parcel.to == name_; });
      if (mine == net_.parcels.end()) break;
      const auto [room, cookie] = rooms_.front();
      rooms_.pop_front();
      std::copy(mine->bytes.begin(), mine->bytes.end(), room.begin());
      done_.push_back({.kind = Completion::Kind::received,
                       .peer = id_of(mine->from),
                       .cookie = cookie,
                       .bytes = mine->bytes.size()});
      net_.parcels.erase(mine);
    }
    std::size_t count = 0;
    for (; count < into.size() && !done_.empty(); done_.pop_front()) into[count++] = done_.front();
    return count;
  }
  void wake() override {}

 private:
  PeerId id_of(const std::string& name) {
    auto found = std::ranges::find(peers_, name);
    if (found == peers_.end()) found = peers_.insert(peers_.end(), name);
    return static_cast<PeerId>(found - peers_.begin());
  }
  Network& net_;
  const std::string name_;
  std::vector<std::string> peers_;
  std::deque<std::pair<std::span<std::byte>, std::uint64_t>> rooms_;
  std::deque<Completion> done_;
};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

bool contains(const std::vector<std::byte>& all, std::string_view text) {
  const auto part = bytes_of(text);
  return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end();
}

class SealedTest : public testing::Test {
 protected:
  struct Side {
    std::unique_ptr<Endpoint> endpoint;
    std::array<std::byte, 64> room{};
    const EncryptedEndpoint& sealed() const { return static_cast<const EncryptedEndpoint&>(*endpoint); }
  };
  Side open(const std::string& name, std::string_view secret,
            EncryptedEndpoint::What what = EncryptedEndpoint::What::all) {
    auto made = EncryptedEndpoint::around(host_, std::make_unique<NetworkEndpoint>(net_, name),
                                          std::as_bytes(std::span(secret)), what);
    EXPECT_TRUE(made.ok());
    return {*std::move(made)};
  }
  std::vector<Completion> turn(Side& side) {
    Completion done[16];
    const auto count = side.endpoint->progress(done, 0);
    EXPECT_TRUE(count.ok()) << count.status().message();
    return {done, done + (count.ok() ? *count : 0)};
  }
  void SetUp() override {
    a_ = open("a", secret_);
    b_ = open("b", secret_);
    to_b_ = *a_.endpoint->connect("b");
    to_a_ = *b_.endpoint->connect("a");
    ASSERT_TRUE(b_.endpoint->post_recv(b_.room, 7).ok());
  }
  void say(std::string_view text) {
    ASSERT_TRUE(a_.endpoint->post_send(to_b_, 5, std::as_bytes(std::span(text)), 3).ok());
  }
  std::string heard(std::size_t bytes) const { return {reinterpret_cast<const char*>(b_.room.data()), bytes}; }

  static constexpr std::string_view secret_ = "0123456789abcdef0123456789abcdef";
  ListeningHost host_;
  Network net_;
  Side a_, b_;
  PeerId to_b_ = 0, to_a_ = 0;
};

TEST_F(SealedTest, AMessageArrivesAsItWasAndIsNotSeenOnItsWay) {
  say("the rate is 0.05");
  ASSERT_EQ(net_.parcels.size(), 1);
  EXPECT_FALSE(contains(net_.parcels[0].bytes, "rate"));
  const auto sent = turn(a_);
  ASSERT_EQ(sent.size(), 1);
  EXPECT_EQ(sent[0].cookie, 3);
  const auto done = turn(b_);
  ASSERT_EQ(done.size(), 1);
  EXPECT_EQ(done[0].kind, Completion::Kind::received);
  EXPECT_EQ(done[0].cookie, 7);
  EXPECT_EQ(done[0].tag, 5);
  EXPECT_EQ(heard(done[0].bytes), "the rate is 0.05");
}

TEST_F(SealedTest, EqualMessagesLookDifferent) {
  say("again");
  say("again");
  EXPECT_NE(net_.parcels[0].bytes, net_.parcels[1].bytes);
}

TEST_F(SealedTest, WhatWasChangedOnItsWayIsDropped) {
  for (std::size_t at = 0;; ++at) {
    say("step 3");
    if (at == net_.parcels[0].bytes.size()) break;
    net_.parcels[0].bytes[at] ^= std::byte{1};
    EXPECT_TRUE(turn(b_).empty()) << at;
  }
  EXPECT_EQ(turn(b_).size(), 1); // the last, which nobody has touched
}

TEST_F(SealedTest, WhatComesOnceMoreOrIsForAnotherIsDroppedAndCounted) {
  say("step 4");
  const Network::Parcel kept = net_.parcels[0];
  EXPECT_EQ(turn(b_).size(), 1);
  ASSERT_TRUE(b_.endpoint->post_recv(b_.room, 8).ok());
  net_.parcels.push_back(kept);
  EXPECT_TRUE(turn(b_).empty());
  EXPECT_EQ(b_.sealed().dropped(), 1);
  Side c = open("c", secret_);
  ASSERT_TRUE(c.endpoint->post_recv(c.room, 1).ok());
  net_.parcels.push_back({"a", "c", kept.bytes});
  EXPECT_TRUE(turn(c).empty());
  EXPECT_EQ(c.sealed().dropped(), 1);
}

TEST_F(SealedTest, AStrangerIsNotHeard) {
  Side stranger = open("x", "another secret of another job 00");
  const PeerId to = *stranger.endpoint->connect("b");
  ASSERT_TRUE(stranger.endpoint->post_send(to, 0, bytes_of("stop"), 0).ok());
  net_.parcels.push_back({"x", "b", bytes_of("no frame")});
  net_.parcels.push_back({"x", "b", {}});
  EXPECT_TRUE(turn(b_).empty());
  EXPECT_EQ(b_.sealed().dropped(), 3);
  b_.endpoint.reset();
  ASSERT_EQ(host_.lines().size(), 2U) << "the first, and how many there were";
  EXPECT_NE(host_.lines()[1].find("3 messages"), std::string::npos) << host_.lines()[1];
}

TEST_F(SealedTest, MessagesWaitForARoomAndForTheirTurn) {
  for (int i = 0; i < 5; ++i) say("m" + std::to_string(i));
  EXPECT_EQ(turn(b_).size(), 1);
  for (int i = 1; i < 5; ++i) {
    ASSERT_TRUE(b_.endpoint->post_recv(b_.room, 7).ok());
    ASSERT_EQ(turn(b_).size(), 1);
    EXPECT_EQ(heard(2), "m" + std::to_string(i));
  }
}

TEST_F(SealedTest, MoreThanThereIsRoomForIsTold) {
  Status status;
  int sent = 0;
  for (; status.ok() && sent < 1000; ++sent) status = a_.endpoint->post_send(to_b_, 0, bytes_of("m"), 0);
  EXPECT_EQ(status.code(), Code::timeout);
  turn(a_);
  EXPECT_TRUE(a_.endpoint->post_send(to_b_, 0, bytes_of("m"), 0).ok());
  const std::vector<std::byte> large(EncryptedEndpoint::largest_message + 1);
  EXPECT_EQ(a_.endpoint->post_send(to_b_, 0, large, 0).code(), Code::invalid);
}

class SealedPutTest : public SealedTest {
 protected:
  void SetUp() override {
    SealedTest::SetUp();
    region_ = *b_.endpoint->allocate(32);
    std::ranges::fill(region_->bytes(), std::byte{'.'});
  }
  Status put(std::string_view text, std::uint64_t offset, std::uint64_t cookie = 9) {
    return a_.endpoint->put(to_b_, std::as_bytes(std::span(text)), region_->key(), offset, cookie);
  }
  std::string there() { return {reinterpret_cast<const char*>(region_->bytes().data()), 32}; }
  std::unique_ptr<Region> region_;
};

TEST_F(SealedPutTest, IsDoneWhenItIsReadAndNotSeenOnItsWay) {
  ASSERT_TRUE(put("gradient", 4).ok());
  EXPECT_FALSE(contains(net_.put.at(0), "grad"));
  EXPECT_TRUE(turn(a_).empty()); // it is made, and nobody has read it
  EXPECT_EQ(there(), std::string(32, '.'));
  EXPECT_EQ(put("over it", 8).code(), Code::timeout);
  EXPECT_TRUE(put("beside", 16, 10).ok());
  EXPECT_TRUE(turn(b_).empty());
  EXPECT_EQ(there(), "....gradient....................");
  const auto done = turn(a_);
  ASSERT_EQ(done.size(), 1);
  EXPECT_EQ(done[0].kind, Completion::Kind::put);
  EXPECT_EQ(done[0].cookie, 9);
  EXPECT_TRUE(put("over it", 8).ok());
}

TEST_F(SealedPutTest, WhatWasChangedOnItsWayIsNotTaken) {
  ASSERT_TRUE(put("gradient", 4).ok());
  turn(a_);
  net_.memory.at(region_->key())[6] ^= std::byte{1};
  Completion done[4];
  EXPECT_EQ(b_.endpoint->progress(done, 0).status().code(), Code::corrupt);
  EXPECT_EQ(there(), "...." + std::string(8, '\0') + std::string(20, '.'));
}

TEST_F(SealedPutTest, ForMemoryThatIsGoneItIsNothing) {
  ASSERT_TRUE(put("gradient", 4).ok());
  turn(a_);
  region_.reset();
  EXPECT_TRUE(turn(b_).empty());
  EXPECT_TRUE(turn(a_).empty());
}

TEST_F(SealedPutTest, WhereMessagesAloneAreSealedMemoryIsPutAsItIs) {
  Side c = open("c", secret_, EncryptedEndpoint::What::messages),
       d = open("d", secret_, EncryptedEndpoint::What::messages);
  const auto region = *d.endpoint->allocate(8);
  const PeerId to = *c.endpoint->connect("d");
  ASSERT_TRUE(c.endpoint->put(to, bytes_of("gradient"), region->key(), 0, 2).ok());
  const auto done = turn(c);
  ASSERT_EQ(done.size(), 1);
  EXPECT_EQ(done[0].cookie, 2);
  EXPECT_EQ(std::memcmp(region->bytes().data(), "gradient", 8), 0);
}

} // namespace
} // namespace dlhost::param
