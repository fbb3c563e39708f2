// Workers with a share of the batch in proportion to their speed.
#include "run/coordinator/balance.h"

#include <algorithm>
#include <numeric>

#include "plan/place.h"
#include "simulated.h"

namespace dlhost::test {
namespace {

using BalanceTest = SimulationTest;
using Rows = std::vector<std::int64_t>;

Rows rows(std::int64_t batch, Rows shares) {
  config::Job job;
  job.train.batch = batch;
  job.topology.workers_per_group = static_cast<std::int64_t>(shares.size());
  job.topology.shares = std::move(shares);
  return run::rows_of(job);
}

TEST_F(BalanceTest, RowsAreWhatSharesSay) {
  EXPECT_EQ(rows(16, {3, 1}), (Rows{12, 4}));
  EXPECT_EQ(rows(12, {1, 1, 1}), (Rows{4, 4, 4}));
  EXPECT_EQ(rows(10, {333, 334, 333}), (Rows{3, 4, 3}));
  EXPECT_EQ(rows(20, {50, 1, 49}), (Rows{10, 1, 9}));
}

TEST_F(BalanceTest, NobodyHasNone) {
  for (const Rows& shares : {Rows{1, 1000}, {1000, 1}, {1, 1, 1000}, {1000, 1, 1}, {1, 1000, 1}}) {
    const Rows found = rows(4, shares);
    EXPECT_EQ(std::accumulate(found.begin(), found.end(), std::int64_t{0}), 4);
    EXPECT_GE(*std::ranges::min_element(found), 1);
  }
}

TEST_F(BalanceTest, SharesAreSpeeds) {
  config::Job job;
  job.train.batch = 16;
  job.topology.workers_per_group = 2;
  job.topology.worker_groups = 2;
  job.topology.balance_steps = 10;
  const auto report = [](double seconds) { return record::WorkerReport{.steps = 10, .seconds = seconds}; };
  const auto apart = run::balanced(job, std::vector{report(1), report(3), report(1), report(3)});
  EXPECT_EQ(apart.topology.shares, (Rows{750, 250}));
  EXPECT_EQ(apart.topology.balance_steps, 0);
  EXPECT_EQ(run::rows_of(apart), (Rows{12, 4}));
  // With equal times the shares stay.
  EXPECT_EQ(run::balanced(apart, std::vector{report(2), report(2), report(2), report(2)}).topology.shares,
            apart.topology.shares);
  EXPECT_TRUE(run::balanced(job, std::vector{report(1), report(0), report(1), report(0)}).topology.shares.empty())
      << "nothing is known of one";
}

// Two workers of equal speed and one of a third of it: 12 rows become 5, 5 and 2, and a step takes half the time.
TEST_F(BalanceTest, AStepTakesLessTimeAndIsTheSame) {
  const std::vector<std::string> uneven{"train.device={ type = \"ref\", rate = 0.001 }", "topology.workers_per_group=3",
                                        "topology.slice_elements=20"};
  auto settings = uneven;
  settings.push_back("topology.balance_steps=5");
  const tools::SimulationSpec spec{.seed = 3, .paces = {3, 3, 1}};
  const auto even = simulate(small_job(), uneven, spec), balanced = simulate(small_job(), settings, spec);
  EXPECT_TRUE(std::ranges::any_of(balanced.told, [](const std::string& line) {
    return line.find("(5, 5, 2 rows) from step") != std::string::npos;
  })) << history_of(balanced);
  ASSERT_EQ(balanced.losses.size(), even.losses.size());
  for (const auto& [step, loss] : even.losses) EXPECT_NEAR(balanced.losses.at(step), loss, 1e-5 * std::abs(loss));
  EXPECT_LT(balanced.outcome.step_median, 0.8 * even.outcome.step_median);
  EXPECT_TRUE(balanced.audit.faults.empty()) << balanced.audit.faults.front();
}

TEST_F(BalanceTest, SharesTrainAsOneWorkerDoes) {
  const auto one = train(small_job());
  for (const char* factors : {"off", "on"}) {
    const auto several = train(small_job(), {"topology.workers_per_group=3", "topology.servers_per_group=2",
                                             "topology.batch_shares=[4, 1, 2]", "topology.slice_elements=20",
                                             concat("topology.gradient_factors=", factors)});
    for (std::size_t step = 0; step < 20; ++step)
      EXPECT_NEAR(several.losses.at(step), one.losses.at(step), 1e-5 * std::abs(one.losses.at(step)));
  }
}

TEST_F(BalanceTest, SharesThatDoNotFitAreRefused) {
  const std::string path = folder_ / "job.toml";
  ASSERT_TRUE(host_.disk().write_text(path, small_job()).ok());
  const std::vector<std::string> set{"topology.workers_per_group=3", "topology.batch_shares=[1, 2]"};
  const auto job = config::load(host_.disk(), path, set, *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const auto session = run::Session::open(host_, *registry_, *job);
  EXPECT_NE(session.status().message().find("topology.batch_shares has 2 numbers, and topology.workers_per_group is 3"),
            std::string::npos)
      << session.status().message();
}

} // namespace
} // namespace dlhost::test
