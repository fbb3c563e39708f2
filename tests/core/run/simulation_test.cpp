// Whole runs in simulated worlds: results equal those of real runs, whichever process is killed, and a seed repeats
// them.
#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "simulated.h"

namespace dlhost::test {
namespace {

const std::vector<std::string> four_workers{"topology.workers_per_group=4", "topology.servers_per_group=2",
                                            "topology.slice_elements=20", "recovery.every={ steps = 6 }"};

TEST_F(SimulationTest, StrictTrainsAsOneRealWorkerDoes) {
  const auto real = train(small_job());
  const auto simulated = simulate(small_job(), four_workers, {.seed = 1});
  ASSERT_EQ(simulated.losses.size(), real.losses.size());
  for (const auto& [step, loss] : simulated.losses)
    EXPECT_NEAR(loss, real.losses[step - 1], 1e-5 * std::abs(loss)) << "step " << step;
  for (const auto& [name, values] : real.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(simulated.params.at(name)[i], values[i], 1e-5) << name;
  EXPECT_GT(simulated.took, 0);
}

TEST_F(SimulationTest, OneSeedIsOneHistory) {
  const tools::SimulationSpec spec{.seed = 5, .kills = 2, .within = 50'000'000};
  const auto one = simulate(small_job(), four_workers, spec), again = simulate(small_job(), four_workers, spec);
  EXPECT_EQ(one.history, again.history);
  EXPECT_EQ(one.told, again.told);
  EXPECT_EQ(one.params, again.params);
  const auto other = simulate(small_job(), four_workers, {.seed = 6, .kills = 2, .within = 50'000'000});
  EXPECT_NE(one.history, other.history);
}

// Bit for bit, for any deaths and any delay of messages.
TEST_F(SimulationTest, UnderStrictDeathsChangeNothing) {
  const auto whole = simulate(small_job(), four_workers, {.seed = 0});
  EXPECT_EQ(whole.recoveries, 0U);
  std::uint32_t recoveries = 0;
  std::int64_t heirs = 0; // processes that replaced a leader
  for (std::uint64_t seed = 1; seed <= seeds(60); ++seed) {
    const auto killed =
        simulate(small_job(), four_workers,
                 {.seed = seed, .kills = 1 + static_cast<int>(seed % 3), .within = whole.took + whole.took / 4});
    EXPECT_EQ(killed.params, whole.params) << "seed " << seed << history_of(killed);
    EXPECT_EQ(killed.losses, whole.losses) << "seed " << seed;
    recoveries += killed.recoveries;
    heirs +=
        std::ranges::count_if(killed.told, [](const auto& line) { return line.find("takes its place") != line.npos; });
  }
  EXPECT_GT(recoveries, share_of(12U)) << "the deaths have to be in time to matter";
  EXPECT_GT(heirs, share_of(4));
}

// Workers that join and leave change nothing either, bit for bit with reproducible sums.
TEST_F(SimulationTest, UnderStrictWorkersThatJoinAndLeaveChangeNothing) {
  auto settings = four_workers;
  settings.insert(settings.end(), {"train.reproducible=true", "train.batch=16"});
  const auto whole = simulate(small_job(), settings, {.seed = 0});
  std::uint32_t scaled = 0, recoveries = 0;
  for (std::uint64_t seed = 1; seed <= seeds(18); ++seed) {
    const auto other = simulate(small_job(), settings,
                                {.seed = seed, .kills = static_cast<int>(seed % 3), .scales = 3, .within = whole.took});
    EXPECT_EQ(other.params, whole.params) << "seed " << seed << history_of(other);
    for (const auto& [step, loss] : whole.losses)
      EXPECT_NEAR(other.losses.at(step), loss, 1e-5) << "seed " << seed << ", step " << step;
    scaled += other.scaled;
    recoveries += other.recoveries;
  }
  EXPECT_GT(scaled, share_of(18U)) << "they have to do so in time to matter";
  EXPECT_GT(recoveries, share_of(3U));
}

TEST_F(SimulationTest, GroupsThatGoAtTheirOwnPaceJoinAndLeave) {
  for (const std::string handler : {"eventual", "bounded", "hogwild", "elastic"}) {
    std::uint32_t scaled = 0;
    for (std::uint64_t seed = 1; seed <= seeds(6); ++seed) {
      const std::vector<std::string> settings{"topology.worker_groups=3", "topology.consistency=" + handler,
                                              "updater.rate=0.01"};
      const auto whole = simulate(small_job(), settings, {.seed = seed});
      const auto other = simulate(small_job(), settings, {.seed = seed, .kills = 1, .scales = 3, .within = whole.took});
      EXPECT_EQ(other.losses.size(), whole.losses.size()) << handler << history_of(other);
      scaled += other.scaled;
    }
    EXPECT_GT(scaled, share_of(5U)) << handler << ": they have to do so in time to matter";
  }
}

// Until the others begin, the first group trains as if alone; the others start from its params.
TEST_F(SimulationTest, TheFirstGroupWarmsUpAlone) {
  const std::vector<std::string> shared{"topology.group_data=\"shared\"", "updater.rate=0.02"};
  const auto alone = simulate(small_job(), shared, {.seed = 1});
  for (const std::string handler :
       {"strict", "eventual", "bounded", "hogwild", "elastic", "first_t", "{ type = \"first_t\", choose = \"slice\" }"})
    for (const int server_groups : {1, 3}) {
      SCOPED_TRACE(concat(handler, ", ", server_groups, " server groups"));
      auto settings = shared;
      settings.insert(settings.end(),
                      {"topology.worker_groups=3", "topology.warmup_steps=25", "topology.consistency=" + handler,
                       concat("topology.server_groups=", server_groups), "recovery.every={ steps = 10 }"});
      if (server_groups > 1) settings.push_back("topology.sync={ type = \"ring\", every = 5 }");
      const auto warmed = simulate(small_job(), settings, {.seed = 1, .kills = 1, .within = 100'000'000});
      ASSERT_EQ(warmed.losses.size(), alone.losses.size());
      for (std::uint64_t step = 1; step <= 25; ++step) EXPECT_EQ(warmed.losses.at(step), alone.losses.at(step)) << step;
      EXPECT_NE(warmed.params, alone.params);
      for (std::uint64_t step = 26; step <= 40; ++step)
        EXPECT_LT(warmed.losses.at(step), 0.8 * alone.losses.at(1)) << "they forget what it had learned";
    }
  const auto whole = simulate(
      small_job(), {shared[0], shared[1], "topology.worker_groups=3", "topology.warmup_steps=1000"}, {.seed = 1});
  EXPECT_EQ(whole.params, alone.params) << "the others have nothing left to do";
}

// A worker's codec remainder survives its death.
TEST_F(SimulationTest, WithACodecDeathsChangeNothingEither) {
  auto settings = four_workers;
  settings.insert(settings.end(), {"topology.codec=\"one_bit\"", "topology.codec_elements=1"});
  const auto whole = simulate(small_job(), settings, {.seed = 0});
  std::uint32_t recoveries = 0;
  for (std::uint64_t seed = 1; seed <= seeds(4); ++seed) {
    const auto killed = simulate(small_job(), settings, {.seed = seed, .kills = 2, .within = whole.took});
    EXPECT_EQ(killed.params, whole.params) << "seed " << seed << history_of(killed);
    recoveries += killed.recoveries;
  }
  EXPECT_GT(recoveries, share_of(2U)) << "the deaths have to be in time to matter";
}

// Six steps are an epoch.
TEST_F(SimulationTest, UnderStrictEachSampleIsAppliedOnceAnEpochWhoeverDies) {
  const std::vector<std::string> workers{"topology.workers_per_group=4", "topology.servers_per_group=3",
                                         "topology.slice_elements=16"};
  const auto whole = simulate(tally_job(), workers, {.seed = 0});
  std::uint32_t recoveries = 0;
  for (std::uint64_t seed = 1; seed <= seeds(30); ++seed) {
    const auto killed = simulate(tally_job(), workers, {.seed = seed, .kills = 3, .within = whole.took * 2});
    ASSERT_EQ(killed.params.size(), 1U);
    for (const float times : killed.params.begin()->second)
      ASSERT_EQ(times, 4) << "seed " << seed << history_of(killed);
    for (const auto& slice : killed.audit.slices) // the servers' ledgers agree
      for (std::size_t worker = 0; worker < 4; ++worker)
        ASSERT_EQ(tools::Audit::contributions(slice, worker), 24U) << "seed " << seed << history_of(killed);
    recoveries += killed.recoveries;
  }
  EXPECT_GT(recoveries, share_of(12U)) << "the deaths have to be in time to matter";
}

// The fault of a run whose samples must count once an epoch, for four epochs; empty: none.
std::string complaint(const tools::Simulated& run) {
  if (!run.status.ok()) return "status: " + run.status.message();
  if (!run.audit.faults.empty()) return "audit: " + run.audit.faults.front();
  for (const auto& slice : run.audit.slices)
    for (std::size_t worker = 0; worker < run.audit.contributors; ++worker)
      if (const auto count = tools::Audit::contributions(slice, worker); count != 24)
        return concat("audit: ", count, " contributions of worker ", worker);
  for (const float times : run.params.begin()->second)
    if (times != 4) return concat("tally: ", times);
  return "";
}

// One intentional fault of each kind.
TEST_F(SimulationTest, FaultsThatWerePutInAreCaught) {
  const auto told = [&](const std::string& setting) {
    return complaint(simulate_whatever_comes(
        tally_job(),
        {"topology.workers_per_group=4", "topology.servers_per_group=2", "topology.codec_elements=1", setting},
        {.seed = 3, .longest = 1000'000'000'000}));
  };
  const auto handler = [](const char* fault) {
    return concat("topology.consistency={ type = \"faulty\", fault = \"", fault, "\" }");
  };
  const auto codec = [](const char* fault) {
    return concat("topology.codec={ type = \"faulty\", fault = \"", fault, "\" }");
  };
  EXPECT_EQ(told(handler("none")), "");
  EXPECT_EQ(told(codec("none")), "");
  using testing::HasSubstr;
  EXPECT_THAT(told(handler("serves_early")), HasSubstr("its traits promise a staleness of 0"));
  EXPECT_THAT(told(handler("never_serves")), HasSubstr("waits to be notified"));
  EXPECT_THAT(told(handler("misses_one")), HasSubstr("after 10 steps, though step 9 of worker "));
  EXPECT_THAT(told(handler("makes_it_alone")), HasSubstr("after 10 steps, though step 9 of worker "));
  EXPECT_THAT(told(handler("counts_twice")), HasSubstr("tally: 5"));
  EXPECT_THAT(told(handler("counts_half")), HasSubstr("tally: 3.5"));
  EXPECT_THAT(told(codec("leaves_one_out")), HasSubstr("tally: 0"));
  EXPECT_THAT(told(codec("keeps_what_it_sent")), HasSubstr("tally: "));
  EXPECT_THAT(told(codec("wrong_length")),
              HasSubstr("codec 'faulty' reports 289 bytes written, beyond its bound of 288"));
  EXPECT_THAT(told(codec("wrong_place")), HasSubstr("tally: "));
}

// Each of three groups trains on all samples four times.
TEST_F(SimulationTest, AReadThatIsOlderThanTheBoundIsCaught) {
  const auto run_with = [&](const char* fault) {
    return simulate_whatever_comes(
        tally_job(),
        {"topology.worker_groups=3",
         concat("topology.consistency={ type = \"faulty_bounded\", fault = \"", fault, "\" }")},
        {.seed = 3, .longest = 1000'000'000'000});
  };
  const auto bounded = run_with("none");
  EXPECT_TRUE(bounded.status.ok()) << bounded.status.message();
  EXPECT_THAT(bounded.params.begin()->second, testing::Each(12));
  EXPECT_THAT(run_with("serves_older").status.message(),
              testing::HasSubstr("is not in: its traits promise a staleness of 1"));
}

// The values of the leader's servers are right, and so are all ledgers.
TEST_F(SimulationTest, AServerGroupWhoseValuesAreItsOwnIsSeen) {
  const auto run_with = [&](const char* fault) {
    return simulate(tally_job(),
                    {"topology.worker_groups=2", "topology.server_groups=2", "topology.consistency=bounded",
                     concat("topology.sync={ type = \"faulty\", fault = \"", fault, "\" }")},
                    {.seed = 3});
  };
  for (const char* fault : {"none", "counts_its_own_twice"}) {
    const auto run = run_with(fault);
    EXPECT_THAT(run.params.begin()->second, testing::Each(8)) << fault;
    ASSERT_EQ(run.elsewhere.size(), 1U) << fault;
    EXPECT_EQ(differs_elsewhere(run).empty(), fault == std::string("none")) << differs_elsewhere(run);
  }
}

// Transports exclude these faults: lost or reordered messages make the run resume; duplicates are dropped.
TEST_F(SimulationTest, MessagesThatAreLostDoubledOrReorderedChangeNothing) {
  const std::vector<std::string> settings{"topology.workers_per_group=4", "topology.servers_per_group=2",
                                          "topology.slice_elements=16", "recovery.restarts=100"};
  const auto recoveries_with = [&](tools::SimulationSpec spec) {
    std::uint32_t recoveries = 0;
    for (spec.seed = 1; spec.seed <= seeds(6); ++spec.seed) {
      const auto run = simulate(tally_job(), settings, spec);
      EXPECT_THAT(run.params.begin()->second, testing::Each(4)) << "seed " << spec.seed << history_of(run);
      recoveries += run.recoveries;
    }
    return recoveries;
  };
  EXPECT_GT(recoveries_with({.lost = 300}), share_of(3U)) << "nobody has missed any";
  EXPECT_GT(recoveries_with({.reordered = 100}), share_of(3U)) << "none has come too late";
  EXPECT_EQ(recoveries_with({.doubled = 3}), 0U);
}

TEST_F(SimulationTest, FaultsOfADiskAreCaught) {
  const std::vector<std::string> settings{"topology.workers_per_group=4", "topology.servers_per_group=2"};
  using env::simulated::DiskFault;
  const auto told = [&](DiskFault fault, std::uint64_t seed) {
    return complaint(simulate_whatever_comes(
        tally_job(), settings,
        {.seed = seed, .stops = 2, .within = 1'500'000'000, .disk_fault = fault, .longest = 1000'000'000'000}));
  };
  std::set<std::string> torn, forgotten;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) { // all seeds: a third would not contain each fault
    EXPECT_EQ(told(DiskFault::none, seed), "") << "seed " << seed;
    torn.insert(told(DiskFault::tears, seed));
    forgotten.insert(told(DiskFault::forgets, seed));
  }
  EXPECT_GT(torn.size(), 1U) << "whatever it did, nobody saw it";
  EXPECT_GT(forgotten.size(), 1U) << "whatever it did, nobody saw it";
  for (const auto& complaint : torn)
    EXPECT_TRUE(complaint.empty() || complaint.find("is not a line of a ledger") != std::string::npos ||
                complaint.starts_with("audit: "))
        << complaint;
  for (const auto& complaint : forgotten)
    EXPECT_TRUE(complaint.empty() || complaint.starts_with("audit: ")) << complaint;
}

// The run resumes from the disk's content: points and the ledgers that they refer to, also those of servers that are
// dead by then.
TEST_F(SimulationTest, AMachineThatStopsLosesNothingThatAPointRestsOn) {
  const std::vector<std::string> settings{"topology.workers_per_group=3", "topology.servers_per_group=3",
                                          "topology.slice_elements=16",   "recovery.every={ steps = 1000 }",
                                          "topology.replicas=2",          "train.stop={ steps = 120 }"};
  const auto whole = simulate(tally_job(), settings, {.seed = 0});
  std::size_t stopped = 0;
  for (std::uint64_t seed = 1; seed <= seeds(20); ++seed) {
    const auto run = simulate(tally_job(), settings, {.seed = seed, .kills = 2, .stops = 1, .within = whole.took});
    for (const float times : run.params.begin()->second) ASSERT_EQ(times, 20) << "seed " << seed << history_of(run);
    stopped += static_cast<std::size_t>(std::ranges::count_if(
        run.told, [](const std::string& line) { return line.find("the machine has stopped") != std::string::npos; }));
  }
  EXPECT_GT(stopped, share_of(15U)) << "it has to stop in time to matter";
}

// Each slice starts with its own version, in any server group: the audit finds all versions.
TEST_F(SimulationTest, SlicesOfTheirOwnPacesGoOnWhereTheyWere) {
  for (const int server_groups : {1, 2}) {
    std::vector<std::string> settings{"topology.worker_groups=4",
                                      "topology.consistency={ type = \"first_t\", t = 1, choose = \"slice\" }",
                                      concat("topology.server_groups=", server_groups),
                                      "topology.servers_per_group=2",
                                      "topology.slice_elements=20",
                                      "recovery.every={ steps = 20 }",
                                      "updater.rate=0.01",
                                      "train.stop={ steps = 200 }"};
    if (server_groups > 1) settings.push_back("topology.sync={ type = \"ring\", every = 3 }");
    const auto whole = simulate(small_job(), settings, {.seed = 0});
    std::int64_t apart = 0, stopped = 0;
    for (std::uint64_t seed = 1; seed <= seeds(6); ++seed) {
      const auto run = simulate(small_job(), settings, {.seed = seed, .kills = 1, .stops = 2, .within = whole.took});
      apart += std::ranges::any_of(run.audit.slices, [&](const auto& one) {
        return std::ranges::any_of(run.audit.slices, [&](const auto& other) {
          return one.server / 2 == other.server / 2 && one.last != other.last; // of one server group
        });
      });
      stopped += std::ranges::count_if(
          run.told, [](const auto& line) { return line.find("the machine has stopped") != line.npos; });
    }
    EXPECT_GT(apart, share_of(1));
    EXPECT_GT(stopped, share_of(6));
  }
}

// A point may be written when some workers of a group have made a step and others have not.
TEST_F(SimulationTest, GroupsThatAreChosenGoOnToTheirEnd) {
  const std::vector<std::string> settings{"topology.worker_groups=2", "topology.workers_per_group=2",
                                          "topology.servers_per_group=2",
                                          "topology.consistency={ type = \"first_t\", t = 1 }"};
  const auto whole = simulate(tally_job(), settings, {.seed = 0});
  std::uint32_t recoveries = 0;
  for (std::uint64_t seed = 1; seed <= seeds(8); ++seed) {
    const auto killed = simulate(tally_job(), settings, {.seed = seed, .kills = 2, .within = whole.took});
    ASSERT_EQ(killed.outcome.progress.step, whole.outcome.progress.step) << "seed " << seed << history_of(killed);
    recoveries += killed.recoveries;
  }
  EXPECT_GT(recoveries, share_of(4U));
}

// Late contributions are counted, and are in the ledger.
TEST_F(SimulationTest, WhatCameTooLateIsCounted) {
  const auto run = simulate(
      tally_job(), {"topology.worker_groups=3", "topology.consistency={ type = \"first_t\", t = 1 }"}, {.seed = 7});
  const auto& arrivals = run.outcome.arrivals;
  EXPECT_GT(arrivals.late, 0U);
  EXPECT_EQ(arrivals.late, run.audit.dropped.size());
  EXPECT_EQ(arrivals.came, arrivals.late + run.audit.slices.front().last);
}

// A worker's progress is in its own values and, after exchanges, in the centre. For any exchanges, they sum up to all
// progress. Six exchanges halve the moved values, which f32 represents exactly.
TEST_F(SimulationTest, UnderElasticTheCentreAndTheWorkersHaveAllOfItWhoeverDies) {
  const std::vector<std::string> settings{"topology.worker_groups=2", "topology.servers_per_group=2",
                                          "topology.consistency={ type = \"elastic\", alpha = 0.5, every = 8 }"};
  const auto whole = simulate(tally_job(), settings, {.seed = 0});
  std::uint32_t recoveries = 0;
  for (std::uint64_t seed = 0; seed <= seeds(12); ++seed) {
    const auto killed =
        simulate(tally_job(), settings, {.seed = seed, .kills = seed > 0 ? 2 : 0, .within = whole.took});
    ASSERT_EQ(killed.own_values.size(), 2U);
    const auto& centre = killed.params.begin()->second;
    for (std::size_t sample = 0; sample < centre.size(); ++sample) {
      EXPECT_GT(centre[sample], 0) << "seed " << seed;
      float all = centre[sample];
      for (const auto& worker : killed.own_values) all += worker.begin()->second[sample];
      ASSERT_EQ(all, 8) << "seed " << seed << ", sample " << sample << history_of(killed);
    }
    recoveries += killed.recoveries;
  }
  EXPECT_GT(recoveries, share_of(6U)) << "the deaths have to be in time to matter";
}

// With error feedback no value is lost: the sender keeps the remainder.
TEST_F(SimulationTest, WhatACodecLeavesOutIsInTheWorkersErrorsWhoeverDies) {
  const std::vector<std::string> settings{
      "topology.worker_groups=2",     "topology.workers_per_group=2",
      "topology.servers_per_group=2", "topology.consistency=eventual",
      "topology.codec_elements=1",    "topology.codec={ type = \"top_k\", share = 0.05 }"};
  const auto whole = simulate(tally_job(), settings, {.seed = 0});
  std::uint32_t recoveries = 0;
  for (std::uint64_t seed = 0; seed <= seeds(24); ++seed) { // the 18th detects double encoding
    const auto killed =
        simulate(tally_job(), settings, {.seed = seed, .kills = seed > 0 ? 2 : 0, .within = whole.took});
    ASSERT_EQ(killed.own_values.size(), 4U);
    const auto& sums = killed.params.begin()->second;
    float kept = 0;
    for (std::size_t sample = 0; sample < sums.size(); ++sample) {
      float all = sums[sample];
      for (const auto& worker : killed.own_values) {
        ASSERT_EQ(worker.begin()->first, "tally.applied/codec.error");
        all -= worker.begin()->second[sample];
        kept -= worker.begin()->second[sample];
      }
      ASSERT_EQ(all, 8) << "seed " << seed << ", sample " << sample << history_of(killed);
    }
    EXPECT_GT(kept, 0) << "all has arrived: this shows nothing";
    recoveries += killed.recoveries;
  }
  EXPECT_GT(recoveries, share_of(4U)) << "the deaths have to be in time to matter";
}

// Groups at their own pace: together they see each sample four times per worker group in 24 steps.
TEST_F(SimulationTest, GroupsAtTheirOwnPaceLoseNothingEither) {
  for (const std::string handler : {"bounded", "eventual", "{ type = \"eventual\", push = 5, fetch = 3 }"})
    for (const auto& [groups, workers] : {std::pair{2, 2}, {3, 1}}) {
      if (workers > 1 && handler.starts_with("{")) continue; // it has values of its own
      SCOPED_TRACE(concat(handler, ", ", groups, " groups of ", workers));
      const std::vector<std::string> settings{concat("topology.worker_groups=", groups),
                                              concat("topology.workers_per_group=", workers),
                                              "topology.servers_per_group=2", "topology.consistency=" + handler};
      const auto whole = simulate(tally_job(), settings, {.seed = 0});
      std::uint32_t recoveries = 0;
      for (std::uint64_t seed = 1; seed <= seeds(8); ++seed) {
        const auto killed = simulate(tally_job(), settings, {.seed = seed, .kills = 2, .within = whole.took});
        ASSERT_EQ(killed.params.size(), 1U);
        for (const float times : killed.params.begin()->second)
          ASSERT_EQ(times, 4 * groups) << "seed " << seed << history_of(killed);
        recoveries += killed.recoveries;
      }
      EXPECT_GT(recoveries, share_of(4U));
    }
}

// Each server group's progress reaches all others once, while updates continue, for any deaths.
TEST_F(SimulationTest, WhatServerGroupsExchangeIsAppliedOnceEverywhere) {
  const std::vector<std::string> settings{"train.batch=6", "topology.worker_groups=4", "topology.server_groups=2",
                                          "topology.servers_per_group=2", "topology.slice_elements=16"};
  std::uint32_t recoveries = 0, seed = 0;
  for (const std::string handler : {"strict", "bounded", "eventual", "hogwild"})
    for (const std::string sync : {"all_to_all", "chain", "ring", "star", "twin_master", "gossip"}) {
      const bool all_groups = sync == "ring" || sync == "gossip";
      if (sync == "gossip" && handler == "strict") continue;
      SCOPED_TRACE(concat(handler, ", ", sync));
      auto here = settings;
      here.insert(here.end(),
                  {"topology.consistency=" + handler, concat("topology.sync={ type = \"", sync, "\", every = 5",
                                                             sync == "gossip" ? "" : ", sum = true", " }")});
      if (all_groups) here.insert(here.end(), {"topology.server_groups=4", "topology.servers_per_group=1"});
      const auto whole = simulate(tally_job(), here, {.seed = 0});
      for (int times = 3 - static_cast<int>(seeds(3)); times < 3; ++times) {
        const auto killed = simulate(tally_job(), here, {.seed = ++seed, .kills = times, .within = whole.took});
        ASSERT_EQ(killed.params.size(), 1U);
        for (const float count : killed.params.begin()->second)
          ASSERT_EQ(count, 8) << "seed " << seed << history_of(killed);
        ASSERT_EQ(killed.elsewhere.size(), all_groups ? 3U : 1U);
        for (const auto& params : killed.elsewhere) EXPECT_EQ(params, killed.params) << "seed " << seed;
        for (std::size_t worker = 0; worker < 4; ++worker) {
          std::uint64_t made = 0; // in slices of the server group with its contributions
          for (const auto& slice : killed.audit.slices) made += tools::Audit::contributions(slice, worker);
          ASSERT_EQ(made, 24 * killed.audit.slices.size() / (all_groups ? 4U : 2U)) << "seed " << seed;
        }
        recoveries += killed.recoveries;
      }
    }
  EXPECT_GT(recoveries, share_of(12U)) << "the deaths have to be in time to matter";
}

// Sections of both params wait for the only place of each server, in whatever order slices are due and messages come:
// no server waits for ever for another's.
TEST_F(SimulationTest, SlicesThatShareRowsAreExchangedOnceEverywhere) {
  std::uint32_t recoveries = 0, seed = 0;
  for (const std::string handler : {"strict", "bounded", "eventual", "hogwild"})
    for (const std::string sync : {"all_to_all", "chain", "halving", "ring"})
      for (int times = 4 - static_cast<int>(seeds(4)); times < 4; ++times) {
        const std::vector<std::string> settings{
            "train.batch=6",
            "topology.worker_groups=4",
            "topology.server_groups=4",
            "topology.exchange_memory=1",
            "topology.consistency=" + handler,
            concat("topology.sync={ type = \"", sync, "\", every = ", 1 + times, ", sum = true }")};
        SCOPED_TRACE(concat(handler, ", ", sync, ", seed ", ++seed));
        const auto run = simulate(tally_job(false, "\"" + handler + "\""), settings,
                                  {.seed = seed, .kills = times / 2, .within = 100'000'000});
        ASSERT_EQ(run.params.size(), 2U);
        for (const auto& [name, counts] : run.params) ASSERT_THAT(counts, testing::Each(8)) << name << history_of(run);
        ASSERT_EQ(run.elsewhere.size(), 3U);
        for (const auto& params : run.elsewhere) EXPECT_EQ(params, run.params);
        recoveries += run.recoveries;
      }
  EXPECT_GT(recoveries, share_of(8U)) << "the deaths have to be in time to matter";
}

} // namespace
} // namespace dlhost::test
