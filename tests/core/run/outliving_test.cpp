// With topology.replicas = 2 the servers' work survives any death, under every handler that allows it: runs without
// recovery points continue, and lose or repeat only the work in flight.
#include <algorithm>
#include <set>

#include "simulated.h"

namespace dlhost::test {
namespace {

const std::string top_k = R"(topology.codec={ type = "top_k", share = 0.02 })"; // one element or two

struct Way {
  std::vector<std::string> settings;
  float times = 16;      // how often each sample counts; 0: not tested
  std::size_t again = 1; // steps of the leader that a death may repeat
};

class OutlivingTest : public SimulationTest, public testing::WithParamInterface<Way> {};

TEST_P(OutlivingTest, ARunGoesOnFromWhatServersHaveMade) {
  const Way& way = GetParam();
  auto settings = way.settings;
  settings.insert(settings.end(), {"topology.replicas=2", "topology.slice_elements=16", "recovery.every={}",
                                   "checkpoint.every={}", "train.stop={ steps = 48 }"});
  const auto whole = simulate(tally_job(), settings, {.seed = 0});
  std::uint32_t recoveries = 0;
  std::int64_t left_out = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto run = simulate(tally_job(), settings, {.seed = seed, .kills = 1, .within = whole.took});
    std::multiset<std::uint64_t> made;
    for (const auto& measured : run.measured)
      if (measured.phase == Phase::train) made.insert(measured.step);
    const std::set<std::uint64_t> steps(made.begin(), made.end());
    EXPECT_EQ(steps.size(), 48U) << "seed " << seed << history_of(run);
    EXPECT_LE(made.size() - steps.size(), way.again * run.recoveries) << "seed " << seed << history_of(run);
    recoveries += run.recoveries;
    for (const auto& worker : run.own_values)
      for (const auto& [name, values] : worker)
        if (name.ends_with("codec.error")) left_out += std::ranges::count_if(values, [](float v) { return v != 0; });
    if (way.times == 0) continue;
    const auto& sums = run.params.begin()->second;
    for (std::size_t sample = 0; sample < sums.size(); ++sample) {
      float times = sums[sample];
      for (const auto& worker : run.own_values)
        for (const auto& [name, values] : worker)
          if (name.ends_with("codec.error")) times -= values[sample];
      ASSERT_EQ(times, way.times) << "seed " << seed << ", sample " << sample << history_of(run);
    }
  }
  const bool encoded =
      std::ranges::any_of(settings, [](const auto& setting) { return setting.starts_with("topology.codec="); });
  EXPECT_EQ(left_out > 0, encoded) << "all has arrived: this shows little";
  EXPECT_GT(recoveries, 3U) << "the deaths have to be in time to matter";
}

INSTANTIATE_TEST_SUITE_P(
    Under, OutlivingTest,
    testing::Values(
        Way{{"topology.workers_per_group=4", "topology.servers_per_group=2", "topology.codec_elements=1", top_k}, 8},
        Way{{"topology.worker_groups=2", "topology.workers_per_group=2", "topology.servers_per_group=2",
             "topology.consistency=eventual", "topology.codec_elements=1", top_k}},
        Way{{"topology.worker_groups=2", "topology.consistency=bounded", "topology.codec_elements=1", top_k}},
        // Gradients added up but not pushed are repeated.
        Way{{"topology.worker_groups=2", R"(topology.consistency={ type = "eventual", push = 3, fetch = 2 })"}, 16, 4},
        Way{{"topology.worker_groups=2", "topology.codec_elements=1", top_k,
             R"(topology.consistency={ type = "eventual", push = 3, fetch = 2 })"},
            16,
            4},
        // Workers restart from the centre: their own differences from it are lost.
        Way{{"topology.worker_groups=2", R"(topology.consistency={ type = "elastic", every = 3 })"}, 0, 4},
        // Folded contributions without a version are repeated.
        Way{{"topology.worker_groups=4", "topology.servers_per_group=2",
             R"(topology.consistency={ type = "first_t", t = 2, choose = "slice", late = "fold" })"},
            0,
            4},
        Way{{"topology.worker_groups=3", "topology.workers_per_group=2", "topology.servers_per_group=2",
             "topology.consistency=backup"},
            0,
            3},
        Way{{"topology.worker_groups=4", "topology.servers_per_group=3", "updater.momentum=0.9",
             R"(topology.consistency={ type = "first_t", t = 1 })"},
            0,
            3}));

// Each unsupported setting is refused with a reason.
TEST_F(SimulationTest, WhatCannotOutliveItsServersIsRefused) {
  const auto told = [&](std::vector<std::string> settings) {
    settings.insert(settings.end(), {"topology.replicas=2", "topology.worker_groups=2", "topology.codec_elements=1"});
    return simulate_whatever_comes(tally_job(), settings, {.seed = 1}).status.message();
  };
  using testing::HasSubstr;
  EXPECT_THAT(told({"topology.consistency=hogwild"}),
              HasSubstr("may be half made when a worker dies; leave topology.replicas out"));
  EXPECT_THAT(told({R"(topology.consistency={ type = "first_t", t = 1, late = "fold" })"}),
              HasSubstr("in some slices sooner than in others"));
  EXPECT_THAT(told({"topology.consistency=backup", top_k}), HasSubstr("would have to go back several steps"));
  EXPECT_THAT(told({R"(topology.consistency={ type = "first_t", t = 1, choose = "slice" })", top_k}),
              HasSubstr("would have to go back several steps"));
  EXPECT_THAT(told({"topology.consistency=elastic", top_k}), HasSubstr("whose workers begin with the servers' values"));
  EXPECT_THAT(told({"topology.server_groups=2", "topology.sync=ring", "topology.consistency=eventual"}),
              HasSubstr("whose exchanges need all of them"));
}

} // namespace
} // namespace dlhost::test
