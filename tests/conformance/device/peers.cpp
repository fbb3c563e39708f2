// A device's contract for sums with others of its kind. Skips devices without such sums, and machines with too few GPUs
// for the ranks.
#include <algorithm>
#include <cmath>

#include <dlhost/partition.h>

#include "device/lab.h"
#include "device/tests.h"

namespace dlhost::conform {

namespace {

struct Rank {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Peers> peers;
  std::vector<Memory> rows;
};

// On machines with several devices, each rank takes the next one.
Table with_turn(const Context& context, const std::string& device, std::size_t turn) {
  Table options = context.options;
  const auto* schema = need(context.registry.schema(Kind::device, device));
  if (schema->find("turn")) options.entries.emplace_back("turn", Value{static_cast<std::int64_t>(turn), {}});
  return options;
}

// Polls all ranks from one task, because none blocks.
void until_ready(const Context& context, std::vector<Rank>& ranks) {
  const Nanoseconds end = context.host.clock().now() + patience;
  for (std::size_t ready = 0; ready < ranks.size();) {
    ready = 0;
    for (Rank& rank : ranks) {
      const auto is_so = rank.peers->ready();
      if (!is_so.ok()) throw Declined{is_so.status().message()};
      if (*is_so) ++ready;
    }
    if (context.host.clock().now() > end) throw std::runtime_error("peers that are never ready");
  }
}

std::vector<Rank> joined(const Context& context, Device& device, const std::string& name, std::size_t count) {
  const auto convened = device.convene();
  if (!convened.ok()) throw Declined{convened.status().message()};
  std::vector<Rank> ranks(count);
  for (std::size_t r = 0; r < count; ++r) {
    ranks[r].device = context.make<Device>(name, with_turn(context, name, r));
    ranks[r].stream = need(ranks[r].device->stream());
    ranks[r].peers = need(ranks[r].device->join(*convened, static_cast<int>(r), static_cast<int>(count)));
    EXPECT_EQ(ranks[r].peers->rank(), static_cast<int>(r));
    EXPECT_EQ(ranks[r].peers->count(), static_cast<int>(count));
  }
  until_ready(context, ranks);
  return ranks;
}

float value_of(std::size_t rank, std::size_t row, std::size_t i, int turn) {
  return std::sin(static_cast<float>(i + 7 * row + 31 * rank + 101 * static_cast<std::size_t>(turn)));
}

// Short and long rows, repeatedly: the same bits on all ranks, close to the expected values.
void check_sums(const Context& context, std::vector<Rank>& ranks, bool maximum) {
  constexpr std::size_t counts[] = {1, 5, 70000};
  for (Rank& rank : ranks)
    for (const std::size_t count : counts) rank.rows.push_back(need(Memory::make(*rank.device, count * sizeof(float))));
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<std::vector<float>> values; // stays until the streams have read it
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      std::vector<Peers::Row> rows;
      for (std::size_t k = 0; k < std::size(counts); ++k) {
        auto& row = values.emplace_back(counts[k]);
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = value_of(r, k, i, turn);
        const Memory& there = ranks[r].rows[k];
        need(ranks[r].device->copy(*ranks[r].stream, there.data(), row.data(), there.size(), Direction::from_host));
        rows.push_back({there.data(), static_cast<std::int64_t>(counts[k])});
      }
      if (!maximum) ranks[r].peers->sum_rows(*ranks[r].stream, rows);
    }
    for (std::size_t k = 0; maximum && k < std::size(counts); ++k) {
      for (Rank& rank : ranks)
        rank.peers->maximum(*rank.stream, rank.rows[k].data(), static_cast<std::int64_t>(counts[k]));
      until_ready(context, ranks);
    }
    until_ready(context, ranks);
    for (std::size_t k = 0; k < std::size(counts); ++k) {
      std::vector<float> first;
      for (Rank& rank : ranks) {
        std::vector<float> got(counts[k]);
        need(rank.device->copy(*rank.stream, got.data(), rank.rows[k].data(), rank.rows[k].size(), Direction::to_host));
        need(rank.stream->wait());
        if (first.empty()) first = got;
        ASSERT_EQ(got, first) << "row " << k << " is another on rank " << rank.peers->rank();
      }
      for (std::size_t i = 0; i < counts[k]; ++i) {
        float wanted = value_of(0, k, i, turn);
        for (std::size_t r = 1; r < ranks.size(); ++r) {
          const float other = value_of(r, k, i, turn);
          wanted = maximum ? std::max(wanted, other) : wanted + other;
        }
        ASSERT_NEAR(first[i], wanted, maximum ? 0 : 1e-5F) << "row " << k << " at " << i;
      }
    }
  }
}

// A sum in progress ends on abandon(), though the others never start it.
void check_abandoned(std::vector<Rank>& ranks) {
  const Memory values = need(Memory::make(*ranks[0].device, 4));
  need(ranks[0].device->fill_zero(*ranks[0].stream, values.data(), 4));
  ranks[0].peers->sum(*ranks[0].stream, values.data(), 1);
  need(ranks[0].peers->ready());
  ranks[0].peers->abandon();
  ranks[0].stream->wait().ignore("a sum that was abandoned may say so");
  EXPECT_FALSE(ranks[0].peers->ready().ok()) << "there are no sums afterwards";
}

enum class What { sums, maxima, abandoned };

void check_peers(const Context& context, const std::string& name, std::size_t count, What what) {
  const auto device = context.make<Device>(name, context.options);
  try {
    auto ranks = joined(context, *device, name, count);
    if (what == What::abandoned)
      check_abandoned(ranks);
    else
      check_sums(context, ranks, what == What::maxima);
  } catch (const Declined& declined) {
    GTEST_SKIP() << declined.why;
  }
}

} // namespace

void add_peers_tests(const Context& context, const std::string& device) {
  const auto add = [&](const std::string& name, std::size_t count, What what) {
    add_test(context, Kind::device, device, "peers." + name,
             [&context, device, count, what] { check_peers(context, device, count, what); });
  };
  add("one_alone_is_its_own_sum", 1, What::sums);
  add("sums_are_the_same_bits_for_all", 3, What::sums);
  add("maxima_too", 2, What::maxima);
  add("who_abandons_waits_no_more", 2, What::abandoned);
}

} // namespace dlhost::conform
