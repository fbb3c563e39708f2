// Whole runs drawn from seeds (drawn_run.h). A failing run is reduced, and printed with the settings to repeat it.
//
// DLHOST_SEED is the first seed, DLHOST_SEEDS the number of seeds.
#include <fmt/format.h>

#include "config/dump.h"
#include "drawn_run.h"
#include "tools/simulate/shrink.h"

namespace dlhost::test {
namespace {

class SeedsTest : public SimulationTest {
 protected:
  std::string kind_of(const std::string& complaint) { return complaint.substr(0, complaint.find(':')); }

  // Reduces a failing run; returns it in the form that starts it in a new process.
  std::string smaller(const DrawnRun& drawn, const config::Job& job, const std::string& complaint) {
    const auto plugins = plugin::entries_of(plugin::settings_of_process({}));
    const auto told = [&](const tools::Failing& run) { return tools::simulate(run.job, plugins, run.spec); };
    const tools::Failing small = tools::shrink({job, drawn.spec}, [&](const tools::Failing& run) {
      const auto simulated = told(run);
      return simulated.status.code() != Code::invalid &&
             kind_of(drawn.complaint(simulated, run.job)) == kind_of(complaint);
    });
    const auto simulated = told(small);
    return fmt::format("{}\n{}\n{}{}", drawn.complaint(simulated, small.job),
                       config::to_toml(small.job, folder_.path()), tools::flags_of(small.spec), history_of(simulated));
  }

  tools::Simulated look_at(const DrawnRun& drawn) {
    const std::uint64_t seed = drawn.spec.seed;
    const std::string path = folder_ / "job.toml";
    EXPECT_TRUE(host_.disk().write_text(path, tally_job(drawn.product, drawn.beside)).ok());
    const auto job = config::load(host_.disk(), path, drawn.set, *registry_);
    EXPECT_TRUE(job.ok()) << job.status().message();
    if (!job.ok()) return {};
    const auto plugins = plugin::entries_of(plugin::settings_of_process({}));
    auto run = tools::simulate(*job, plugins, drawn.spec);
    const std::string complaint = drawn.complaint(run, *job);
    if (!complaint.empty())
      ADD_FAILURE() << "seed " << seed << " (" << fmt::format("{}", fmt::join(drawn.set, " ")) << " " << drawn.beside
                    << "): " << complaint << history_of(run) << "\n\nmade smaller: " << smaller(drawn, *job, complaint);
    if (seed % 10 == 0) {
      EXPECT_EQ(run.history, tools::simulate(*job, plugins, drawn.spec).history)
          << "seed " << seed << " is not the same twice";
    }
    return run;
  }
};

TEST_F(SeedsTest, WhateverIsDrawnNothingIsLostOrCountsTwice) {
  const std::uint64_t first = setting("DLHOST_SEED", 1), count = setting("DLHOST_SEEDS", 1000);
  std::uint64_t recoveries = 0, scaled = 0, steps = 0;
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    const auto run = look_at(DrawnRun(seed));
    recoveries += run.recoveries;
    scaled += run.scaled;
    steps += run.losses.size();
  }
  fmt::print("{} seeds from {}: {} steps, {} recoveries, scaled {} times\n", count, first, steps, recoveries, scaled);
  EXPECT_GT(recoveries, count / 5) << "what goes wrong has to go wrong in time to matter";
}

// Former faults. A group stopped in its last step, which its leader had made and a worker had not. The first of
// all messages was lost, and its sender waited in silence. All workers paused before a worker had reached the content
// of one param that was in another. The leader of a resumed run died before its summary said that it was running (two).
TEST_F(SeedsTest, WhatFailedOnce) {
  for (const std::uint64_t seed : {1654123075, 71601, 866824765, 636, 1281}) {
    DrawnRun drawn(seed);
    drawn.spec.reordered = 0; // as before: without reordering
    look_at(drawn);
  }
}

// An intentional fault is reduced to a small run.
TEST_F(SeedsTest, WhatFailsIsMadeSmaller) {
  const std::string path = folder_ / "job.toml";
  ASSERT_TRUE(host_.disk().write_text(path, tally_job()).ok());
  const std::vector<std::string> set{"topology.workers_per_group=4", "topology.servers_per_group=2",
                                     "topology.consistency={ type = \"faulty\", fault = \"counts_twice\" }"};
  const auto job = config::load(host_.disk(), path, set, *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const auto plugins = plugin::entries_of(plugin::settings_of_process({}));
  int tried = 0;
  const auto counts_wrongly = [&](const tools::Failing& failing) {
    ++tried;
    const auto run = tools::simulate(failing.job, plugins, failing.spec);
    if (!run.status.ok()) return false;
    float sum = 0;
    for (const float times : run.params.begin()->second) sum += times;
    return sum != static_cast<float>(failing.job.train.stop.steps * failing.job.train.batch);
  };
  const tools::Failing first{*job, {.seed = 3, .kills = 2, .cuts = 1, .within = 50'000'000}};
  ASSERT_TRUE(counts_wrongly(first));
  const auto small = tools::shrink(first, counts_wrongly);
  EXPECT_TRUE(counts_wrongly(small));
  EXPECT_EQ(small.spec.kills + small.spec.cuts, 0);
  EXPECT_LE(small.job.topology.workers_per_group, 2);
  EXPECT_EQ(small.job.topology.servers_per_group, 1);
  EXPECT_LT(small.job.train.stop.steps, 24);
  EXPECT_LT(tried, 100);
}

} // namespace
} // namespace dlhost::test
