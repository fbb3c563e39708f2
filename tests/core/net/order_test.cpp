// Drawn graphs of few nodes, against the definition of their order.
#include "net/order.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>

namespace dlhost::net {
namespace {

using Below = std::vector<std::vector<std::size_t>>;

Below drawn(std::mt19937& draws) {
  Below below(1 + draws() % 7);
  for (auto& sources : below)
    for (std::size_t count = draws() % 3; count > 0; --count) sources.push_back(draws() % below.size());
  return below;
}

bool reaches(const Below& below, std::size_t from, std::size_t to) {
  std::vector<bool> seen(below.size());
  std::vector<std::size_t> open{from};
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    for (const std::size_t source : below[node]) {
      if (source == to) return true;
      if (!seen[source]) open.push_back(source);
      seen[source] = true;
    }
  }
  return false;
}

bool has_cycle(const Below& below) {
  for (std::size_t node = 0; node < below.size(); ++node)
    if (reaches(below, node, node)) return true;
  return false;
}

TEST(FeatureOrder, IsTheJobsWhereSourcesAllowIt) {
  std::mt19937 draws(1);
  for (int n = 0; n < 3000; ++n) {
    const Below below = drawn(draws);
    const auto order = feature_order(below).nodes;
    std::vector<bool> placed(below.size());
    for (const std::size_t node : order) {
      const auto ready = [&](std::size_t other) {
        return !placed[other] && std::ranges::all_of(below[other], [&](std::size_t source) { return placed[source]; });
      };
      std::size_t first = 0;
      while (first < below.size() && !ready(first)) ++first;
      if (first == below.size()) first = static_cast<std::size_t>(std::ranges::find(placed, false) - placed.begin());
      ASSERT_EQ(node, first) << "in drawn graph " << n;
      placed[node] = true;
    }
    ASSERT_EQ(order.size(), below.size());
  }
}

TEST(FeatureOrder, ShowsACycleIfThereIsOne) {
  std::mt19937 draws(2);
  int cyclic = 0;
  for (int n = 0; n < 3000; ++n) {
    const Below below = drawn(draws);
    const auto cycle = feature_order(below).cycle;
    ASSERT_EQ(!cycle.empty(), has_cycle(below)) << "in drawn graph " << n;
    for (std::size_t i = 0; i < cycle.size(); ++i) { // from a node to its reader
      const std::size_t reader = cycle[(i + 1) % cycle.size()];
      ASSERT_THAT(below[reader], testing::Contains(cycle[i])) << "in drawn graph " << n;
      ASSERT_EQ(std::ranges::count(cycle, reader), 1) << "in drawn graph " << n;
    }
    cyclic += cycle.empty() ? 0 : 1;
  }
  EXPECT_GT(cyclic, 500);
  EXPECT_LT(cyclic, 2500);
}

} // namespace
} // namespace dlhost::net
