// Workers whose devices sum gradients, in simulated worlds: for any death at any moment, the training equals one
// worker's, and no process waits for ever.
#include "simulated.h"

namespace dlhost::test {
namespace {

using SumsSimulationTest = SimulationTest;

TEST_F(SumsSimulationTest, DeathsChangeNothing) {
  for (const char* device : {"ref", "{ type = \"ref\", far = true }"}) {
    const std::vector<std::string> four{"topology.workers_per_group=4", "topology.device_copies=none",
                                        concat("train.device=", device)};
    const auto whole = simulate(small_job(), four, {.seed = 0});
    ASSERT_EQ(whole.losses.size(), 40U);
    std::uint32_t recoveries = 0;
    for (std::uint64_t seed = 1; seed <= seeds(12); ++seed) {
      SCOPED_TRACE(concat(device, ", seed ", seed));
      const auto killed = simulate(small_job(), four, {.seed = seed, .kills = 2, .within = whole.took});
      EXPECT_EQ(killed.losses, whole.losses);
      EXPECT_EQ(killed.params, whole.params);
      recoveries += killed.recoveries;
    }
    EXPECT_GT(recoveries, 0U) << "nobody was killed in the midst of it";
  }
}

} // namespace
} // namespace dlhost::test
