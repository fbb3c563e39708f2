// Runs whose net is divided among the workers of each group, in simulated worlds: what goes between the layers, and
// deaths at any moment. A param has one holder, or each worker holds a part of it.
#include <algorithm>

#include "simulated.h"

namespace dlhost::test {
namespace {

struct Kind {
  const char* name;
  std::vector<std::string> settings;
};

class DividedRunTest : public SimulationTest, public testing::WithParamInterface<Kind> {
 protected:
  static std::vector<std::string> settings(const std::vector<std::string>& more) {
    auto all = GetParam().settings;
    all.insert(all.end(), {"topology.workers_per_group=3", "topology.slice_elements=16", "recovery.restarts=20"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

// Features and gradients go around: from one worker to another, and back.
const std::vector<std::string> chain{"layer.data.location=0", "layer.marks.location=2", "layer.tally.location=1",
                                     "layer.counts.location=0"};
// Rows of all go to the holder of the param, and are cut again.
const std::vector<std::string> between_rows{"layer.tally.location=2"};
// Each worker holds a part of the param.
const std::vector<std::string> parts{"layer.tally.partition=features"};

TEST_P(DividedRunTest, CountsEachSampleOnce) {
  const auto rows = simulate(tally_job(true), settings({}), {.seed = 0});
  for (const auto& division : {chain, between_rows, parts}) {
    const auto divided = simulate(tally_job(true), settings(division), {.seed = 0});
    EXPECT_EQ(divided.params, rows.params);
  }
}

TEST_P(DividedRunTest, DeathsChangeNothing) {
  std::uint32_t recoveries = 0;
  for (const auto& division : {chain, between_rows, parts}) {
    const auto whole = simulate(tally_job(true), settings(division), {.seed = 0});
    for (std::uint64_t seed = 1; seed <= seeds(25); ++seed) {
      const auto killed = simulate(tally_job(true), settings(division),
                                   {.seed = seed, .kills = 1 + static_cast<int>(seed % 3), .within = whole.took});
      EXPECT_EQ(killed.params, whole.params) << "seed " << seed << history_of(killed);
      EXPECT_EQ(differs_elsewhere(killed), "") << "seed " << seed << history_of(killed);
      recoveries += killed.recoveries;
    }
  }
  EXPECT_GT(recoveries, share_of(10U)) << "the deaths have to be in time to matter";
}

INSTANTIATE_TEST_SUITE_P(
    Under, DividedRunTest,
    testing::Values(Kind{"strict", {}}, Kind{"servers", {"topology.servers_per_group=3"}},
                    Kind{"replicas", {"topology.replicas=2"}}, Kind{"eventual", {"topology.consistency=eventual"}},
                    Kind{"two_groups", {"topology.worker_groups=2"}},
                    Kind{"ring", {"topology.worker_groups=2", "topology.server_groups=2", "topology.sync=ring"}}),
    [](const auto& one) { return std::string(one.param.name); });

} // namespace
} // namespace dlhost::test
