// The messages and puts that leave a post for other machines, and their order; and the handling of received ones.
#include "param/message/post.h"

#include <algorithm>
#include <deque>

#include <gmock/gmock.h>

#include "listening_host.h"

namespace dlhost::param {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A network that acts only when the test tells it to.
struct Wires {
  struct Put {
    std::string what; // its first byte as a letter, and the destination
    std::uint64_t cookie = 0;
  };
  bool in_order = true;
  std::vector<std::string> log;            // of the requests: "put a>1", "letters 3,4>1"
  std::vector<std::uint32_t> epochs;       // of each message
  std::vector<Put> puts;                   // that are not complete
  std::deque<Completion> done;             // to report
  std::vector<std::span<std::byte>> rooms; // receive buffers by cookie
  std::deque<std::uint64_t> free_rooms;
};

std::string text_of(const Body& body) {
  const auto name = visit_message(body, [](const auto& message) -> std::string {
    using Type = std::remove_cvref_t<decltype(message)>;
    if constexpr (std::is_same_v<Type, to_server::Update>) return "update";
    if constexpr (std::is_same_v<Type, to_server::Get>) return "get";
    if constexpr (std::is_same_v<Type, to_neighbour::Taken>) return "taken";
    return "other";
  });
  return name + std::to_string(slice_of(body).value_or(0));
}

class NetEndpoint final : public Endpoint {
 public:
  explicit NetEndpoint(Wires& net) : net_(net) {}
  std::string address() const override { return "here"; }
  Result<PeerId> connect(std::string_view address) override {
    if (address == "of a dead process") return Status::not_found("there is no such memory");
    return static_cast<PeerId>(std::stoi(std::string(address)));
  }
  void disconnect(PeerId) override {}
  Status post_send(PeerId peer, std::uint64_t, std::span<const std::byte> bytes, std::uint64_t cookie) override {
    std::string letters;
    for (BundleReader reader(bytes); !reader.at_end();) {
      const auto letter = reader.next();
      const Message message = *read_message(letter->message);
      letters += (letters.empty() ? "" : ",") + text_of(message.body);
      net_.epochs.push_back(message.epoch);
      if (!letter->enclosure.bytes.empty()) letters += "+" + std::to_string(letter->enclosure.bytes.size());
    }
    net_.log.push_back(letters + ">" + std::to_string(peer));
    net_.done.push_back({.kind = Completion::Kind::sent, .peer = peer, .cookie = cookie});
    return {};
  }
  Status post_recv(std::span<std::byte> room, std::uint64_t cookie) override {
    net_.rooms.resize(std::max<std::size_t>(net_.rooms.size(), cookie + 1));
    net_.rooms[cookie] = room;
    net_.free_rooms.push_back(cookie);
    return {};
  }
  Result<std::unique_ptr<Region>> allocate(std::size_t) override { return Status::unsupported("no"); }
  Result<std::unique_ptr<Region>> register_memory(std::span<std::byte>) override { return Status::unsupported("no"); }
  Status put(PeerId peer, std::span<const std::byte> from, std::string_view, std::uint64_t,
             std::uint64_t cookie) override {
    const std::string what = std::string(1, static_cast<char>(from[0])) + ">" + std::to_string(peer);
    net_.log.push_back("put " + what);
    net_.puts.push_back({what, cookie});
    return {};
  }
  Status get(PeerId, std::span<std::byte>, std::string_view, std::uint64_t, std::uint64_t) override {
    return Status::unsupported("no");
  }
  bool puts_in_order() const override { return net_.in_order; }
  Result<std::unique_ptr<Region>> map(PeerId, std::string_view) override {
    return Status::not_found("there is no such memory");
  }
  Result<std::size_t> progress(std::span<Completion> into, Nanoseconds) override {
    std::size_t count = 0;
    for (; count < into.size() && !net_.done.empty(); net_.done.pop_front()) into[count++] = net_.done.front();
    return count;
  }
  void wake() override {}

 private:
  Wires& net_;
};

class NetTransport final : public Transport {
 public:
  explicit NetTransport(Wires& net) : net_(net) {}
  Capabilities capabilities() const override { return {.one_sided = true, .registers = true, .across_hosts = true}; }
  Result<std::unique_ptr<Endpoint>> open(Host&, const Opening&) override {
    return std::unique_ptr<Endpoint>(new NetEndpoint(net_));
  }

 private:
  Wires& net_;
};

// Seat 0 is alone on its machine, as is seat 1; seats 2 and 3 share one. A put has 100 bytes more than fit into a
// message; one and a half of them may be in flight.
class PostTest : public testing::Test, public MessageHandler {
 protected:
  static constexpr std::size_t large = most_enclosed + 100;
  static constexpr std::uint32_t epoch = 70'003;

  void SetUp() override {
    post_ = *Post::open({.host = &host_,
                         .far = &transport_,
                         .seat = 0,
                         .machines = {0, 1, 2, 2},
                         .epoch = epoch,
                         .host_name = "here",
                         .credit = 64,
                         .under_way = large * 3 / 2});
    for (const std::uint32_t seat : {1U, 2U, 3U})
      ASSERT_TRUE(post_->connect(seat, {"", std::to_string(seat), concat("host", seat)}).ok());
    for (char what = 'a'; what <= 'z'; ++what) memory_.emplace_back(large, static_cast<std::byte>(what));
  }
  Status take(std::uint32_t, const Body& message) override {
    taken_.push_back(text_of(message));
    return {};
  }

  void show(char what, const RemoteCopy& there) {
    ASSERT_TRUE(post_->show({memory(what), &there, 0, record::Cargo::state}).ok());
  }
  void send(std::uint32_t seat, const Body& message, char what = 0, const RemoteCopy* there = nullptr,
            std::size_t bytes = large) {
    Post::Shown shown;
    if (what != 0) shown = {memory(what).first(bytes), there, 0, record::Cargo::gradients};
    ASSERT_TRUE(post_->send(seat, message, shown).ok());
  }
  std::span<const std::byte> memory(char what) { return memory_[static_cast<std::size_t>(what - 'a')]; }
  void progress() { ASSERT_TRUE(post_->progress(*this, 0).ok()); }
  void finish(const std::string& what) {
    const auto put = std::ranges::find(net_.puts, what, &Wires::Put::what);
    ASSERT_NE(put, net_.puts.end()) << what;
    net_.done.push_back({.kind = Completion::Kind::put, .cookie = put->cookie});
    net_.puts.erase(put);
    progress();
  }
  // The requests to the network since the last call.
  std::vector<std::string> given() { return std::exchange(net_.log, {}); }

  ListeningHost host_;
  Wires net_;
  NetTransport transport_{net_};
  std::unique_ptr<Post> post_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::string> taken_;
  const RemoteCopy of_1_{.seat = 1, .key = "k", .number = 7}, of_2_{.seat = 2, .key = "k", .number = 7, .shared = true};
};

TEST_F(PostTest, MessagesGoTogetherWithTheNextFlush) {
  send(1, to_server::Get{.slice = 3});
  send(1, to_server::Get{.slice = 4});
  send(2, to_server::Get{.slice = 5});
  send(1, to_server::Update{.slice = 6}, 'a', &of_1_, 100);
  EXPECT_THAT(given(), IsEmpty());
  ASSERT_TRUE(post_->flush().ok());
  EXPECT_THAT(given(), ElementsAre("get3,get4,update6+100>1", "get5>2"));
}

TEST_F(PostTest, WhatNobodyWaitsForGoesWithWhatSomebodyDoes) {
  send(1, to_neighbour::Taken{.slice = 3});
  progress(); // progress() first sends the earlier messages
  EXPECT_THAT(given(), ElementsAre("taken3>1"));
  send(1, to_neighbour::Taken{.slice = 4});
  send(1, to_server::Get{.slice = 4});
  progress();
  EXPECT_THAT(given(), ElementsAre("taken4,get4>1"));
}

TEST_F(PostTest, LowerSlicesGoFirstAndNotAllAtOnce) {
  for (const SliceId slice : {9U, 8U, 3U})
    send(1, to_server::Update{.slice = slice}, static_cast<char>('a' + slice), &of_1_);
  send(1, to_server::Get{.slice = 9});
  EXPECT_THAT(given(), ElementsAre("put j>1")); // the link was free for the first
  progress();
  EXPECT_THAT(given(), ElementsAre("update9,get9>1"));
  finish("j>1");
  EXPECT_THAT(given(), ElementsAre("put d>1", "update3>1"));
  finish("d>1");
  EXPECT_THAT(given(), ElementsAre("put i>1", "update8>1"));
}

TEST_F(PostTest, OfOneSliceNothingOvertakes) {
  send(1, to_server::Update{.slice = 3}, 'a', &of_1_);
  send(1, to_server::Update{.slice = 4}, 'b', &of_1_); // waits
  send(1, to_server::Get{.slice = 4});
  send(1, to_server::Get{.slice = 5});
  progress();
  EXPECT_THAT(given(), ElementsAre("put a>1", "update3,get5>1"));
  finish("a>1");
  EXPECT_THAT(given(), ElementsAre("put b>1", "update4,get4>1"));
}

TEST_F(PostTest, WhatIsOfNoSliceIsOvertakenByNothingAndOvertakesNothing) {
  send(1, to_server::Update{.slice = 3}, 'a', &of_1_);
  send(1, to_server::Update{.slice = 4}, 'b', &of_1_);
  send(1, to_chooser::Whole());
  send(1, to_server::Get{.slice = 5});
  progress();
  EXPECT_THAT(given(), ElementsAre("put a>1", "update3>1"));
  finish("a>1");
  EXPECT_THAT(given(), ElementsAre("put b>1", "update4,other0,get5>1"));
}

TEST_F(PostTest, WhatIsShownByItselfIsThereBeforeWhatFollows) {
  net_.in_order = false;
  show('s', of_1_);
  send(1, to_server::Get{.slice = 5});
  progress();
  EXPECT_THAT(given(), ElementsAre("put s>1"));
  finish("s>1");
  EXPECT_THAT(given(), ElementsAre("get5>1"));
}

// Without order between two peers: seats 2 and 3 share memory, so a message to one waits for a put to the other.
TEST_F(PostTest, WhatOthersOfTheMachineWereShownIsThereFirst) {
  send(2, to_server::Update{.slice = 3}, 'a', &of_2_);
  send(3, to_server::Get{.slice = 3}); // like a message about the same slice to another seat
  send(3, to_server::Get{.slice = 4});
  progress();
  EXPECT_THAT(given(), ElementsAre("put a>2", "update3>2", "get4>3"));
  finish("a>2");
  EXPECT_THAT(given(), ElementsAre("get3>3"));
}

TEST_F(PostTest, WhatIsSharedIsNeverEnclosed) {
  send(2, to_server::Update{.slice = 3}, 'a', &of_2_, 100);
  EXPECT_THAT(given(), ElementsAre("put a>2"));
}

class ReceivingTest : public PostTest {
 protected:
  void SetUp() override {
    PostTest::SetUp();
    post_->know(7, mirror_);
  }
  Status arrives(const Body& body, std::uint16_t number, const Attachment& enclosure = {}) {
    return arrives_as_it_is({.sequence = number, .epoch = epoch, .body = body}, enclosure);
  }
  Status arrives_as_it_is(const Message& message, const Attachment& enclosure) {
    const std::uint64_t room = net_.free_rooms.front();
    net_.free_rooms.pop_front();
    std::array<std::byte, message_bytes> bytes;
    write(message, bytes);
    Bundle bundle(net_.rooms[room]);
    bundle.add(bytes, enclosure);
    net_.done.push_back(
        {.kind = Completion::Kind::received, .peer = 1, .cookie = room, .bytes = bundle.written().size()});
    return post_->progress(*this, 0);
  }

  std::vector<std::byte> mirror_ = std::vector<std::byte>(64);
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(16, std::byte{5});
};

TEST_F(ReceivingTest, WhatIsEnclosedLiesInItsMirrorWhenTheMessageIsRead) {
  EXPECT_TRUE(arrives(to_server::Get{.slice = 2}, 0, {7, 8, bytes_}).ok());
  EXPECT_THAT(taken_, ElementsAre("get2"));
  EXPECT_EQ(std::ranges::count(mirror_, std::byte{5}), 16);
  EXPECT_EQ(mirror_[8], std::byte{5});
}

TEST_F(ReceivingTest, WhatComesOnceMoreIsDroppedWithAllThatItBrings) {
  EXPECT_TRUE(arrives(to_server::Get{.slice = 2}, 0).ok());
  EXPECT_TRUE(arrives(to_server::Get{.slice = 2}, 0, {7, 0, bytes_}).ok());
  EXPECT_THAT(taken_, ElementsAre("get2"));
  EXPECT_EQ(std::ranges::count(mirror_, std::byte{5}), 0);
}

TEST_F(ReceivingTest, WhatIsOfAnotherAttemptIsDroppedAndCounted) {
  std::uint16_t number = 0;
  for (const Body& body : {Body(to_server::Update()), Body(to_chooser::Whole()), Body(to_neighbour::Part()),
                           Body(to_client::Value()), Body(to_worker::Failed())})
    EXPECT_TRUE(arrives_as_it_is({.sequence = number++, .epoch = epoch - 1, .body = body}, {7, 0, bytes_}).ok());
  EXPECT_THAT(taken_, IsEmpty());
  EXPECT_EQ(std::ranges::count(mirror_, std::byte{5}), 0);
  EXPECT_EQ(post_->stale(), number);
  post_->close();
  ASSERT_EQ(host_.lines().size(), 1U);
  EXPECT_EQ(host_.lines()[0],
            concat("worker 0 has dropped messages of another attempt of the run, which was given up: ", number));
}

TEST_F(ReceivingTest, WhatIsOfAnotherAttemptIsNotCountedAsOneThatIsAwaited) {
  EXPECT_TRUE(arrives_as_it_is({.sequence = 5, .epoch = epoch - 1, .body = to_server::Get()}, {}).ok());
  EXPECT_TRUE(arrives(to_server::Get{.slice = 2}, 0).ok());
  EXPECT_THAT(taken_, ElementsAre("get2"));
}

// So that a run which meets it recovers, as from every other death.
TEST_F(PostTest, WhoseMemoryIsThereNoMoreIsGone) {
  const auto near = *Post::open({.host = &host_, .near = &transport_, .seat = 0, .machines = {0, 0}, .credit = 64});
  const Status connected = near->connect(1, {"of a dead process", "", ""});
  EXPECT_EQ(connected.message(), "worker 1 has ended: there is no such memory");
  EXPECT_EQ(connected.code(), Code::gone);
  ASSERT_TRUE(near->connect(1, {"1", "", ""}).ok());
  EXPECT_EQ(near->map(1, "key").status().code(), Code::gone);
}

TEST_F(PostTest, WhatLeavesIsOfItsAttempt) {
  send(1, to_server::Get{.slice = 3});
  ASSERT_TRUE(post_->flush().ok());
  EXPECT_THAT(net_.epochs, ElementsAre(epoch));
}

TEST_F(ReceivingTest, WhoIsGoneIsNamedWithItsMachine) {
  net_.done.push_back({.kind = Completion::Kind::gone, .peer = 2});
  EXPECT_EQ(post_->progress(*this, 0).message(), "worker 2 on host2 is gone");
  EXPECT_EQ(post_->addresses().host_name, "here");
}

TEST_F(ReceivingTest, WhoseMessagesAreMissingIsGone) {
  EXPECT_EQ(arrives(to_server::Get(), 1).code(), Code::gone);
  EXPECT_THAT(post_->gone(), ElementsAre(1U));
  EXPECT_THAT(taken_, IsEmpty());
}

TEST_F(ReceivingTest, BytesForOtherMemoryAreRefused) {
  std::uint16_t number = 0;
  for (const Attachment& enclosure :
       {Attachment{7, 56, bytes_}, Attachment{7, ~std::uint64_t{0} - 3, bytes_}, Attachment{6, 0, bytes_},
        Attachment{8, 0, bytes_}, Attachment{~std::uint32_t{0}, 0, bytes_}}) {
    EXPECT_EQ(arrives(to_server::Get(), number++, enclosure).code(), Code::corrupt);
  }
  EXPECT_THAT(taken_, IsEmpty());
  EXPECT_EQ(std::ranges::count(mirror_, std::byte{5}), 0);
}

} // namespace
} // namespace dlhost::param
