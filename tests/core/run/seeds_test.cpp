// Runs that a seed draws, whole: who trains, under which handler, through which sync and codec, and what goes wrong
// when. Whatever it is, each sample is in the params as often as it was trained on, and the ledgers say so. What fails
// is made smaller, and printed with what it takes to have it again.
//
// DLHOST_SEED is the first seed, DLHOST_SEEDS how many there are.
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include <dlhost/random.h>

#include "config/dump.h"
#include "run/shrink.h"
#include "simulated.h"

namespace dlhost::test {
namespace {

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_({seed, 0}, 0, 0) {
    spec = {.seed = seed, .longest = 600'000'000'000};
    const std::int64_t groups = 1 + below(4), batch = groups == 4 ? 6 : 12; // so that steps make whole epochs
    handler_ = one_of({"strict", "strict", "bounded", "eventual", "hogwild", "elastic", "first_t", "backup", "pushes"});
    const bool own_values = handler_ == "elastic" || handler_ == "pushes";
    const std::int64_t workers = own_values ? 1 : 1 + below(groups > 2 ? 2 : 3);
    const std::int64_t server_groups = 1 + below(groups), served = groups / server_groups * workers;
    set = {concat("train.batch=", batch),
           concat("topology.worker_groups=", groups),
           concat("topology.workers_per_group=", workers),
           concat("topology.server_groups=", server_groups),
           concat("topology.servers_per_group=", 1 + below(served)),
           concat("topology.slice_elements=", one_of({"16", "24", "1000"})),
           concat("recovery.every={ steps = ", 2 + below(7), " }"),
           "topology.consistency=" + consistency()};
    if (server_groups > 1) set.push_back("topology.sync=" + sync());
    const bool encoded = groups * workers > 1 && below(4) == 0;
    if (encoded) {
      set.insert(set.end(), {"topology.codec_elements=1", "topology.codec={ type = \"top_k\", share = 0.1 }"});
    }
    if (groups * workers > 1) spec.kills = below(4);
    if (groups * workers > 1 && below(3) == 0) spec.cuts = 1 + below(2);
    // Who goes at their own pace begin together afterwards, and what a codec has left out is given up.
    if (handler_ == "strict" && workers > 1 && !encoded && below(2) == 0) spec.scales = 1 + below(3);
    spec.within = Nanoseconds{20 + below(150)} * 1'000'000;
    if (below(2) == 0) spec.transport.options.entries.emplace_back("most", Value{0.002, {}});
  }

  // Of that run, which may be smaller than what was drawn. Empty: none.
  std::string complaint(const run::Simulated& run, const config::Job& job) const {
    if (!run.status.ok()) return "status: " + run.status.message();
    if (!run.audit.faults.empty()) return "audit: " + run.audit.faults.front();
    if (handler_ == "first_t" || handler_ == "backup") return ""; // what comes too late is dropped
    const auto& sums = run.params.begin()->second;
    const auto all = static_cast<float>(job.train.stop.steps * job.train.batch * job.topology.worker_groups);
    const float each = all / static_cast<float>(sums.size());
    const float left_out = handler_ == "elastic" ? 1 : -1; // of differences, or of gradients, which count downward
    float sum = 0;
    for (std::size_t sample = 0; sample < sums.size(); ++sample) {
      float times = sums[sample];
      for (const auto& worker : run.own_values)
        for (const auto& [name, values] : worker)
          times += name.ends_with("error") ? left_out * values[sample] : values[sample];
      if (each == std::floor(each) && times != each) // whole epochs
        return fmt::format("tally: sample {} counts {} times, not {}", sample, times, each);
      sum += times;
    }
    return sum == all ? "" : fmt::format("tally: {} samples count, not {}", sum, all);
  }

  std::vector<std::string> set;
  run::SimulationSpec spec;

 private:
  std::int64_t below(std::int64_t n) { return random_.below(static_cast<std::uint32_t>(n)); }
  std::string one_of(std::initializer_list<const char*> what) {
    return what.begin()[below(static_cast<std::int64_t>(what.size()))];
  }
  std::string consistency() {
    if (handler_ == "bounded") return fmt::format("{{ type = \"bounded\", bound = {} }}", below(4));
    if (handler_ == "elastic") return "{ type = \"elastic\", alpha = 0.5, every = 8 }";
    if (handler_ == "first_t") return "{ type = \"first_t\", t = 1 }";
    if (handler_ == "pushes")
      return fmt::format("{{ type = \"eventual\", push = {}, fetch = {} }}", 1 + below(5), 2 + below(4));
    return handler_;
  }
  // What is exchanged is added up: means would not be whole numbers.
  std::string sync() {
    const std::string name = handler_ == "strict"
                                 ? one_of({"all_to_all", "chain", "ring", "star", "twin_master"})
                                 : one_of({"all_to_all", "chain", "ring", "star", "twin_master", "gossip"});
    return fmt::format("{{ type = \"{}\", every = {}{} }}", name, 1 + below(9), name == "gossip" ? "" : ", sum = true");
  }

  Random random_;
  std::string handler_;
};

class SeedsTest : public SimulationTest {
 protected:
  std::string kind_of(const std::string& complaint) { return complaint.substr(0, complaint.find(':')); }

  // As a program of its own would be started with it.
  std::string smaller(const Drawn& drawn, const config::Job& job, const std::string& complaint) {
    const auto plugins = plugin::entries_of(plugin::settings_of_process({}));
    const auto told = [&](const run::Failing& run) { return run::simulate(run.job, plugins, run.spec); };
    const run::Failing small = run::shrink({job, drawn.spec}, [&](const run::Failing& run) {
      const auto simulated = told(run);
      return simulated.status.code() != Code::invalid &&
             kind_of(drawn.complaint(simulated, run.job)) == kind_of(complaint);
    });
    const auto simulated = told(small);
    return fmt::format("{}\n{}\n--seed {} --faults kills={},cuts={},scales={} --within {}{}",
                       drawn.complaint(simulated, small.job), config::to_toml(small.job, folder_.path()),
                       small.spec.seed, small.spec.kills, small.spec.cuts, small.spec.scales,
                       static_cast<double>(small.spec.within) * 1e-9, history_of(simulated));
  }
};

TEST_F(SeedsTest, WhateverIsDrawnNothingIsLostOrCountsTwice) {
  const std::uint64_t first = setting("DLHOST_SEED", 1), count = setting("DLHOST_SEEDS", 1000);
  const std::string path = folder_ / "job.toml";
  ASSERT_TRUE(host_.disk().write_text(path, tally_job()).ok());
  const auto plugins = plugin::entries_of(plugin::settings_of_process({}));
  std::uint64_t recoveries = 0, scaled = 0, steps = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Drawn drawn(seed);
    const auto job = config::load(host_.disk(), path, drawn.set, *registry_);
    ASSERT_TRUE(job.ok()) << job.status().message();
    const auto run = run::simulate(*job, plugins, drawn.spec);
    const std::string complaint = drawn.complaint(run, *job);
    if (!complaint.empty())
      FAIL() << "seed " << seed << " (" << fmt::format("{}", fmt::join(drawn.set, " ")) << "): " << complaint
             << history_of(run) << "\n\nmade smaller: " << smaller(drawn, *job, complaint);
    if (seed % 10 == 0) {
      const auto again = run::simulate(*job, plugins, drawn.spec);
      ASSERT_EQ(run.history, again.history) << "seed " << seed << " is not the same twice";
    }
    recoveries += run.recoveries;
    scaled += run.scaled;
    steps += run.losses.size();
  }
  fmt::print("{} seeds from {}: {} steps, {} recoveries, scaled {} times\n", count, first, steps, recoveries, scaled);
  EXPECT_GT(recoveries, count / 5) << "what goes wrong has to go wrong in time to matter";
}

// A fault that was put in on purpose comes out small.
TEST_F(SeedsTest, WhatFailsIsMadeSmaller) {
  const std::string path = folder_ / "job.toml";
  ASSERT_TRUE(host_.disk().write_text(path, tally_job()).ok());
  const std::vector<std::string> set{"topology.workers_per_group=4", "topology.servers_per_group=2",
                                     "topology.consistency={ type = \"faulty\", fault = \"counts_twice\" }"};
  const auto job = config::load(host_.disk(), path, set, *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const auto plugins = plugin::entries_of(plugin::settings_of_process({}));
  int tried = 0;
  const auto counts_wrongly = [&](const run::Failing& failing) {
    ++tried;
    const auto run = run::simulate(failing.job, plugins, failing.spec);
    if (!run.status.ok()) return false;
    float sum = 0;
    for (const float times : run.params.begin()->second) sum += times;
    return sum != static_cast<float>(failing.job.train.stop.steps * failing.job.train.batch);
  };
  const run::Failing first{*job, {.seed = 3, .kills = 2, .cuts = 1, .within = 50'000'000}};
  ASSERT_TRUE(counts_wrongly(first));
  const auto small = run::shrink(first, counts_wrongly);
  EXPECT_TRUE(counts_wrongly(small));
  EXPECT_EQ(small.spec.kills + small.spec.cuts, 0);
  EXPECT_LE(small.job.topology.workers_per_group, 2);
  EXPECT_EQ(small.job.topology.servers_per_group, 1);
  EXPECT_LT(small.job.train.stop.steps, 24);
  EXPECT_LT(tried, 100);
}

} // namespace
} // namespace dlhost::test
