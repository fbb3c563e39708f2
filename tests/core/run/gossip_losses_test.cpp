// Server groups that gossip go on without one that is lost, in simulated worlds: also without the first one, which has
// the run's leader.
#include <algorithm>

#include "simulated.h"

namespace dlhost::test {
namespace {

using GossipLossesTest = SimulationTest;

bool is_told(const tools::Simulated& run, const std::string& what) {
  return std::ranges::any_of(run.told, [&](const std::string& line) { return line.find(what) != std::string::npos; });
}

// A step that another group has heard of is not repeated, whichever process dies, and each step counts once.
TEST_F(GossipLossesTest, GroupsThatGossipGoOnWithoutThoseThatAreLost) {
  std::uint32_t replaced = 0;
  for (const int replicas : {1, 2})
    for (const int children : {1, 2})
      for (std::uint64_t seed = 1; seed <= seeds(36); ++seed) {
        const std::vector<std::string> settings{
            "train.batch=6",
            "topology.worker_groups=4",
            "topology.server_groups=4",
            "topology.consistency=eventual",
            "topology.slice_elements=16",
            "validate.every={ steps = 4 }",
            concat("topology.replicas=", replicas),
            concat("topology.sync={ type = \"gossip\", children = ", children, " }")};
        const auto whole = simulate(tally_job(), settings, {.seed = 0});
        const auto killed = simulate(tally_job(), settings,
                                     {.seed = seed, .kills = 1 + static_cast<int>(seed % 3), .within = whole.took});
        for (const float count : killed.params.begin()->second)
          ASSERT_EQ(count, 8) << "seed " << seed << history_of(killed);
        for (const auto& params : killed.elsewhere)
          EXPECT_EQ(params, killed.params) << "seed " << seed << history_of(killed);
        EXPECT_THAT(killed.audit.faults, testing::IsEmpty());
        if (killed.recoveries > killed.replaced) continue; // a group died before all had begun, or all but one
        replaced += killed.replaced;
        EXPECT_EQ(killed.audit.begun, 1U) << "seed " << seed << history_of(killed);
        const auto trained =
            std::ranges::count(killed.measured, Phase::train, [](const auto& measured) { return measured.phase; });
        EXPECT_EQ(static_cast<std::size_t>(trained), killed.losses.size()) << "seed " << seed;
      }
  EXPECT_GT(replaced, share_of(40U)) << "the deaths have to be in time to matter";
}

// Several groups are lost at a time, and their new processes come in another order than they were started.
TEST_F(GossipLossesTest, LostGroupsAreAdmittedInTheOrderInWhichTheyCome) {
  const std::vector<std::string> settings{"train.batch=6",
                                          "train.stop={ steps = 400 }",
                                          "recovery.restarts=1000",
                                          "topology.worker_groups=5",
                                          "topology.server_groups=5",
                                          "topology.consistency=hogwild",
                                          "topology.slice_elements=16",
                                          "topology.sync={ type = \"gossip\" }"};
  const auto whole = simulate(tally_job(), settings, {.seed = 0});
  std::uint32_t replaced = 0;
  for (std::uint64_t seed = 101; seed <= 100 + seeds(40); ++seed) { // the 113th meets the two orders
    const auto killed = simulate(
        tally_job(), settings,
        {.seed = seed, .kills = 1, .again_after = 1 + static_cast<std::int64_t>(seed % 20), .within = whole.took});
    EXPECT_EQ(killed.params, whole.params) << "seed " << seed << history_of(killed);
    replaced += killed.replaced;
  }
  EXPECT_GT(replaced, share_of(20U)) << "the deaths have to be in time to matter";
}

// The leader dies, or another process of its group: the group begins anew while the others make steps, and people are
// told so.
TEST_F(GossipLossesTest, TheFirstGroupIsReplacedLikeTheOthers) {
  std::uint32_t of_leader = 0, of_its_group = 0;
  for (const int replicas : {1, 2})
    for (std::uint64_t seed = 1; seed <= seeds(60); ++seed) {
      const std::vector<std::string> settings{"train.batch=6",
                                              "topology.worker_groups=3",
                                              "topology.workers_per_group=2",
                                              "topology.servers_per_group=2",
                                              "topology.server_groups=3",
                                              "topology.consistency=eventual",
                                              "topology.slice_elements=16",
                                              "validate.every={ steps = 4 }",
                                              concat("topology.replicas=", replicas),
                                              "topology.sync={ type = \"gossip\" }"};
      const auto whole = simulate(tally_job(), settings, {.seed = 0});
      const auto killed = simulate(tally_job(), settings, {.seed = seed, .kills = 2, .within = whole.took});
      EXPECT_EQ(killed.params, whole.params) << "seed " << seed << history_of(killed);
      for (const auto& params : killed.elsewhere)
        EXPECT_EQ(params, killed.params) << "seed " << seed << history_of(killed);
      if (killed.audit.begun > 1 || !is_told(killed, "workers 0, 1 are replaced after")) continue;
      const bool is_leader = is_told(killed, "(leader) is killed");
      (is_leader ? of_leader : of_its_group) += 1;
    }
  EXPECT_GT(of_leader + of_its_group, share_of(20U)) << "the deaths have to be in time to matter";
}

} // namespace
} // namespace dlhost::test
