// A process dies, and while the run recovers another one does: at every turn of the recovery, one simulated run each. A
// turn of a task ends when it waits, so that each message of the recovery has a death before and after it.
//
// DLHOST_EVERY_TURN: all turns. Else each 61st, and under sanitizers each 183rd.
#include <cstdlib>

#include "simulated.h"

namespace dlhost::test {
namespace {

struct Kind {
  const char* name;
  std::vector<std::string> settings;
};

class SecondDeathTest : public SimulationTest, public testing::WithParamInterface<Kind> {};

TEST_P(SecondDeathTest, AtAnyTurnOfARecoveryLosesNothing) {
  constexpr std::int64_t turns = 1500;
  const auto stride = 61 * static_cast<std::int64_t>(one_in());
  const bool all = std::getenv("DLHOST_EVERY_TURN") != nullptr;
  auto settings = GetParam().settings;
  settings.insert(settings.end(), {"topology.slice_elements=16", "recovery.every.steps=8", "train.stop={ steps = 24 }",
                                   "recovery.restarts=20"});
  const auto whole = simulate(tally_job(), settings, {.seed = 0});
  std::uint32_t twice = 0;
  std::int64_t runs = 0;
  int recovered = 0; // runs that one death interrupts
  for (std::uint64_t seed = 1; recovered < (all ? 6 : 3) && seed <= 100; ++seed) {
    const tools::SimulationSpec once{.seed = seed, .kills = 1, .within = whole.took};
    if (simulate(tally_job(), settings, once).recoveries != 1) continue; // the death came too late to matter
    ++recovered;
    for (std::int64_t turn = 1 + static_cast<std::int64_t>(seed) % stride; turn <= turns; turn += all ? 1 : stride) {
      SCOPED_TRACE(concat("seed ", seed, ", turn ", turn));
      auto spec = once;
      spec.again_after = turn;
      const auto run = simulate(tally_job(), settings, spec);
      ASSERT_TRUE(run.status.ok());
      for (const auto& [name, sums] : run.params)
        for (std::size_t sample = 0; sample < sums.size(); ++sample)
          ASSERT_EQ(sums[sample], whole.params.at(name)[sample]) << name << ", sample " << sample << history_of(run);
      ++runs;
      twice += run.recoveries > 1 ? 1 : 0;
    }
  }
  EXPECT_GE(recovered, 3);
  EXPECT_GT(twice, runs / 8) << "deaths in recoveries begin another recovery";
  RecordProperty("recovered_twice", concat(twice, " of ", runs));
}

INSTANTIATE_TEST_SUITE_P(Under, SecondDeathTest,
                         testing::Values(Kind{"strict", {"topology.workers_per_group=3"}},
                                         Kind{"replicas", {"topology.workers_per_group=3", "topology.replicas=2"}},
                                         Kind{"eventual",
                                              {"topology.worker_groups=3", "topology.consistency=eventual"}}),
                         [](const auto& one) { return std::string(one.param.name); });

} // namespace
} // namespace dlhost::test
