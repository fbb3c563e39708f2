// Transports: two endpoints of one process. Messages arrive whole, in order and unchanged. Operations that a transport
// does not support are refused, not replaced.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include <dlhost/transport.h>

#include "device/lab.h"
#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

constexpr Nanoseconds a_moment = 1'000'000;

struct Pair {
  Pair(const Context& with, const std::string& name)
      : context(with), transport(usable<Transport>(with, name)), a(need(transport->open(with.host, {.name = "a"}))),
        b(need(transport->open(with.host, {.name = "b"}))), to_b(need(a->connect(b->address()))) {}

  // Drives both endpoints until `enough` returns true.
  template <class Enough> void progress(Enough&& enough) {
    const Nanoseconds end = context.host.clock().now() + patience;
    while (!enough()) {
      if (context.host.clock().now() > end) throw std::runtime_error("nothing arrives");
      turn(a.get(), of_a);
      turn(b.get(), of_b);
    }
  }
  void turn(Endpoint* endpoint, std::deque<Completion>& into) {
    if (!endpoint) return;
    Completion made[4];
    const std::size_t count = need(endpoint->progress(made, a_moment));
    ASSERT_LE(count, 4U);
    into.insert(into.end(), made, made + count);
  }

  const Context& context;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Endpoint> a, b;
  PeerId to_b;
  std::deque<Completion> of_a, of_b;
};

std::vector<std::byte> message(std::size_t number, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + number * 13 + i / 256);
  return bytes;
}

void messages_arrive_in_order(const Context& context, const std::string& name) {
  Pair pair(context, name);
  const std::size_t largest = std::min<std::size_t>(pair.transport->capabilities().largest_message, 100000);
  ASSERT_GT(largest, 0U);
  constexpr std::size_t count = 60;
  std::vector<std::vector<std::byte>> sent, got(count, std::vector<std::byte>(largest));
  for (std::size_t i = 0; i < count; ++i) sent.push_back(message(i, i % 7 == 0 ? largest : (i * 97) % largest));
  for (std::size_t i = 0; i < count; ++i) need(pair.b->post_recv(got[i], 1000 + i));
  for (std::size_t i = 0; i < count; ++i)
    for (;;) {
      const Status posted = pair.a->post_send(pair.to_b, 500 + i, sent[i], i);
      if (posted.ok()) break;
      ASSERT_EQ(posted.code(), Code::timeout) << posted.message();
      pair.turn(pair.a.get(), pair.of_a);
      pair.turn(pair.b.get(), pair.of_b);
    }
  pair.progress([&] { return pair.of_a.size() == count && pair.of_b.size() == count; });
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(pair.of_a[i].kind, Completion::Kind::sent);
    EXPECT_EQ(pair.of_a[i].cookie, i);
    ASSERT_EQ(pair.of_b[i].kind, Completion::Kind::received);
    EXPECT_EQ(pair.of_b[i].cookie, 1000 + i);
    EXPECT_EQ(pair.of_b[i].tag, 500 + i) << "out of order";
    ASSERT_EQ(pair.of_b[i].bytes, sent[i].size());
    got[i].resize(sent[i].size());
    EXPECT_EQ(got[i], sent[i]) << "message " << i << " is not what was sent";
  }
}

void a_wait_ends(const Context& context, const std::string& name) {
  Pair pair(context, name);
  Completion none[1];
  EXPECT_EQ(need(pair.a->progress(none, a_moment)), 0U);
  auto waker = context.host.tasks().start("waker", [&] { pair.a->wake(); });
  EXPECT_EQ(need(pair.a->progress(none, 5 * patience)), 0U); // without the wake, the test's timeout would end it
  waker->join();
}

void refuses_what_it_cannot(const Context& context, const std::string& name) {
  Pair pair(context, name);
  const auto capabilities = pair.transport->capabilities();
  std::vector<std::byte> memory(64);
  if (!capabilities.one_sided) {
    EXPECT_FALSE(pair.a->put(pair.to_b, memory, "key", 0, 1).ok());
    EXPECT_FALSE(pair.a->get(pair.to_b, memory, "key", 0, 2).ok());
  }
  EXPECT_TRUE(capabilities.maps || !pair.a->map(pair.to_b, "key").ok());
  EXPECT_FALSE(pair.a->connect("no such address").ok());
  if (capabilities.largest_message >= std::size_t{1} << 20) return;
  const std::vector<std::byte> too_long(capabilities.largest_message + 1);
  EXPECT_FALSE(pair.a->post_send(pair.to_b, 0, too_long, 0).ok());
}

void memory_is_reached_from_afar(const Context& context, const std::string& name) {
  Pair pair(context, name);
  const auto capabilities = pair.transport->capabilities();
  if (!capabilities.one_sided && !capabilities.maps) GTEST_SKIP() << "does not say that it can";
  std::vector<std::byte> theirs(capabilities.registers ? 4096 : 0), mine = message(3, 256), back(256);
  std::vector<std::unique_ptr<Region>> regions;
  regions.push_back(need(pair.b->allocate(4096)));
  if (capabilities.registers) regions.push_back(need(pair.b->register_memory(theirs)));
  for (const auto& region : regions) {
    EXPECT_LE(region->key().size(), 64U);
    ASSERT_GE(region->bytes().size(), 4096U);
    pair.of_a.clear();
    if (capabilities.one_sided) {
      need(pair.a->put(pair.to_b, mine, region->key(), 100, 1));
      pair.progress([&] { return !pair.of_a.empty(); });
      EXPECT_EQ(pair.of_a[0].kind, Completion::Kind::put);
      EXPECT_EQ(std::memcmp(region->bytes().data() + 100, mine.data(), mine.size()), 0);
      need(pair.a->get(pair.to_b, back, region->key(), 100, 2));
      pair.progress([&] { return pair.of_a.size() == 2; });
      EXPECT_EQ(back, mine);
      EXPECT_FALSE(pair.a->put(pair.to_b, mine, region->key(), region->bytes().size() - 96, 3).ok()) << "beyond it";
      EXPECT_FALSE(pair.a->get(pair.to_b, back, region->key(), ~std::uint64_t{0} - 10, 4).ok()) << "far beyond it";
      EXPECT_FALSE(pair.a->put(pair.to_b, mine, "../../etc/passwd", 0, 5).ok());
    }
    if (!capabilities.maps || region != regions.front()) continue;
    region->bytes()[7] = std::byte{99};
    const auto mapped = need(pair.a->map(pair.to_b, region->key()));
    ASSERT_GE(mapped->bytes().size(), 4096U);
    EXPECT_EQ(mapped->bytes()[7], std::byte{99});
    mapped->bytes()[8] = std::byte{98};
    EXPECT_EQ(region->bytes()[8], std::byte{98}) << "the same memory on both sides";
    EXPECT_FALSE(pair.a->map(pair.to_b, "../../etc/passwd").ok());
  }
}

// Small and large puts in sequence, each followed by a message.
void what_is_put_is_there_before_what_is_sent(const Context& context, const std::string& name) {
  Pair pair(context, name);
  if (!pair.a->puts_in_order()) GTEST_SKIP() << "does not say that it does";
  constexpr std::size_t largest = std::size_t{1} << 20;
  const auto region = need(pair.b->allocate(largest));
  std::vector<std::byte> word(16), room(16);
  for (std::uint8_t round = 1; round <= 100; ++round) {
    const std::vector<std::byte> put(round % 3 == 0 ? largest : 64 * round, std::byte{round});
    pair.of_a.clear();
    pair.of_b.clear();
    need(pair.b->post_recv(room, round));
    need(pair.a->put(pair.to_b, put, region->key(), 0, 1));
    need(pair.a->post_send(pair.to_b, 1, word, 2));
    pair.progress([&] { return !pair.of_b.empty(); });
    const auto there = region->bytes().first(put.size());
    ASSERT_EQ(std::memcmp(there.data(), put.data(), put.size()), 0) << "round " << int{round};
    pair.progress([&] { return pair.of_a.size() == 2; });
  }
}

// Messages larger than the transport's buffers wait, in both directions at once.
void large_messages_cross(const Context& context, const std::string& name) {
  Pair pair(context, name);
  const std::size_t size = std::min<std::size_t>(pair.transport->capabilities().largest_message, 5 << 20);
  const PeerId to_a = need(pair.b->connect(pair.a->address()));
  const auto from_a = message(1, size), from_b = message(2, size);
  std::vector<std::byte> at_a(size), at_b(size);
  need(pair.a->post_recv(at_a, 1));
  need(pair.b->post_recv(at_b, 2));
  need(pair.a->post_send(pair.to_b, 7, from_a, 3));
  need(pair.b->post_send(to_a, 8, from_b, 4));
  pair.progress([&] { return pair.of_a.size() == 2 && pair.of_b.size() == 2; });
  EXPECT_EQ(at_a, from_b);
  EXPECT_EQ(at_b, from_a);
  const auto received = std::ranges::find(pair.of_b, Completion::Kind::received, &Completion::kind);
  EXPECT_EQ(received->peer, to_a) << "a message's peer is the one that can be answered";
}

void the_dead_are_reported(const Context& context, const std::string& name) {
  Pair pair(context, name);
  if (!pair.transport->capabilities().reports_gone) GTEST_SKIP() << "does not say that it does";
  const auto sent = message(1, 16);
  std::vector<std::byte> room(16);
  need(pair.b->post_recv(room, 1));
  need(pair.a->post_send(pair.to_b, 1, sent, 1));
  pair.progress([&] { return !pair.of_b.empty() && !pair.of_a.empty(); });
  pair.of_a.clear();
  pair.b.reset();
  pair.progress([&] { return !pair.of_a.empty(); });
  EXPECT_EQ(pair.of_a[0].kind, Completion::Kind::gone);
  EXPECT_EQ(pair.of_a[0].peer, pair.to_b);
}

} // namespace

void register_transport_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::transport, name, "messages_arrive_in_order", messages_arrive_in_order);
  add_product_check(context, Kind::transport, name, "a_wait_ends", a_wait_ends);
  add_product_check(context, Kind::transport, name, "refuses_what_it_cannot", refuses_what_it_cannot);
  add_product_check(context, Kind::transport, name, "large_messages_cross", large_messages_cross);
  add_product_check(context, Kind::transport, name, "memory_is_reached_from_afar", memory_is_reached_from_afar);
  add_product_check(context, Kind::transport, name, "what_is_put_is_there_before_what_is_sent",
                    what_is_put_is_there_before_what_is_sent);
  add_product_check(context, Kind::transport, name, "the_dead_are_reported", the_dead_are_reported);
}

} // namespace dlhost::conform
