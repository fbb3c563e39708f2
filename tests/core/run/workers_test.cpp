// Several workers train as one does.
#include <cmath>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

#include "several.h"

namespace dlhost::test {
namespace {

using WorkersTest = Bench;

TEST_F(WorkersTest, SeveralWorkersTrainAsOneDoes) {
  for (const std::string device : {"ref", "cpu"}) {
    if (!registry_->find(Kind::device, device)) continue;
    const auto one = train(small_job(device));
    for (const int count : {2, 3, 4, 8})
      for (const int servers : {1, count}) {
        SCOPED_TRACE(concat(device, ", ", count, " workers, ", servers, " servers"));
        const auto several = train(small_job(device), workers(count, servers));
        expect_near(one, several, 1e-5, 20);
        ASSERT_EQ(several.test.size(), one.test.size());
        EXPECT_NEAR(several.test[0].second, one.test[0].second, 1e-3);
        EXPECT_EQ(several.outcome.progress.items, one.outcome.progress.items);
      }
  }
}

// Single steps, each begun from one worker's params and state: a few of 200, or all if time allows.
TEST_F(WorkersTest, EachStepIsThatOfOneWorker) {
  const std::vector<std::string> settings{"train.stop.steps=200", "checkpoint.every={ steps = 1 }",
                                          "checkpoint.keep=200", "updater.rate=0.05", "layer.data.train=500"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = settings;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string checkpoints = folder_ / "checkpoints";
  const auto one = train(small_job(), with({"train.batch=48"}), 0, {}, checkpoints);
  ASSERT_EQ(one.losses.size(), 200U);
  std::vector<std::size_t> steps{1, 2, 3, 50, 100, 150, 199};
  if (std::getenv("DLHOST_EVERY_STEP")) {
    steps.resize(199);
    std::iota(steps.begin(), steps.end(), 1);
  }
  for (const int groups : {1, 2})
    for (const int count : {1, 2, 3, 4, 8})
      for (const std::size_t at : steps) {
        const auto several =
            train(small_job(),
                  with(workers(count, (count + 1) / 2,
                               {concat("topology.worker_groups=", groups), concat("train.batch=", 48 / groups),
                                concat("train.stop.steps=", at + 1)})),
                  0, checkpoints + fmt::format("/step-{:09}", at));
        ASSERT_EQ(several.losses.size(), 1U);
        EXPECT_NEAR(several.losses[0], one.losses[at], 1e-5 * std::abs(one.losses[at]))
            << "step " << at << ", " << groups << " groups of " << count;
      }
}

TEST_F(WorkersTest, ReproducibleParamsHaveTheSameBitsForAnyNumberOfWorkers) {
  const std::vector<std::string> same{"train.batch=16", "train.reproducible=true"}, not_so{"train.batch=16"};
  const auto one = train(small_job(), same), loose = train(small_job(), not_so);
  bool differs = false;
  for (const int count : {2, 4, 8}) {
    SCOPED_TRACE(concat(count, " workers"));
    for (const int servers : {1, count})
      EXPECT_EQ(train(small_job(), workers(count, servers, same)).params, one.params);
    differs = differs || train(small_job(), workers(count, 1, not_so)).params != loose.params;
  }
  EXPECT_TRUE(differs) << "it is the same without: this shows nothing";
  auto groups = workers(2, 3, same);
  groups.insert(groups.end(), {"topology.worker_groups=2", "train.batch=8"});
  EXPECT_EQ(train(small_job(), groups).params, one.params);
}

TEST_F(WorkersTest, IsTheSameTwice) {
  const auto settings = workers(3, 3);
  const auto one = train(small_job(), settings), two = train(small_job(), settings);
  EXPECT_EQ(one.losses, two.losses);
  EXPECT_EQ(one.params, two.params);
}

TEST_F(WorkersTest, ResumedEqualsNeverStopped) {
  const std::string checkpoints = folder_ / "checkpoints";
  const auto settings = workers(3, 2);
  const auto whole = train(small_job(), settings);
  const auto first = train(small_job(), settings, 17, {}, checkpoints);
  EXPECT_EQ(first.outcome.ending, run::Ending::interrupted);
  const auto rest = train(small_job(), settings, 0, checkpoints);
  ASSERT_EQ(first.losses.size() + rest.losses.size(), whole.losses.size());
  EXPECT_TRUE(std::equal(rest.losses.begin(), rest.losses.end(), whole.losses.begin() + 17));
  EXPECT_EQ(rest.params, whole.params);
}

std::vector<std::string> groups(int count, const std::string& consistency, std::vector<std::string> more = {}) {
  more.push_back(concat("topology.worker_groups=", count));
  more.push_back("topology.consistency=" + consistency);
  more.push_back("topology.slice_elements=20");
  return more;
}

// A pause averages running state over the workers; a checkpoint has it once for all of them.
TEST_F(WorkersTest, RunningStateGoesOnFromACheckpoint) { expect_resumed_alike(normed_job(), workers(2, 1), 15); }

// A step of all groups is a step of one with a batch that many times as large.
TEST_F(WorkersTest, StrictGroupsMakeTheStepsOfOne) {
  const auto one = train(small_job());
  const auto two = train(small_job(), groups(2, "strict", {"train.batch=6"}));
  expect_near(one, two, 1e-5, 20);
  const auto four =
      train(small_job(),
            groups(2, "strict", {"train.batch=6", "topology.workers_per_group=2", "topology.servers_per_group=3"}));
  expect_near(one, four, 1e-5, 20);
}

bool has_own_values(const std::string& handler) {
  return handler == "elastic" || handler.find("fetch") != std::string::npos;
}

TEST_F(WorkersTest, EveryHandlerLearns) {
  const std::vector<std::string> slowly{"train.batch=6", "train.stop.steps=120", "updater.rate=0.01"};
  for (const std::string handler :
       {"eventual", "{ type = \"eventual\", fetch = 3 }", "{ type = \"eventual\", push = 3, fetch = 2 }", "elastic",
        "hogwild", "bounded", "{ type = \"bounded\", bound = 0 }", "{ type = \"first_t\", t = 2 }", "backup",
        "{ type = \"first_t\", t = 2, late = \"fold\" }",
        "{ type = \"first_t\", t = 2, late = \"dampen\", rate = \"share\" }",
        "{ type = \"first_t\", t = 2, choose = \"slice\" }",
        "{ type = \"first_t\", t = 1, choose = \"slice\", late = \"fold\", late_share = 0.2 }"})
    for (const int workers : {1, 2}) {
      if (workers > 1 && has_own_values(handler)) continue;
      SCOPED_TRACE(concat(handler, ", ", workers, " workers a group"));
      auto settings = groups(3, handler, slowly);
      settings.push_back(concat("topology.workers_per_group=", workers));
      settings.push_back("topology.servers_per_group=2");
      settings.push_back("test.every={ steps = 50 }");
      const auto trained = train(small_job(), settings);
      EXPECT_EQ(trained.losses.size(), 120U);
      ASSERT_EQ(trained.test.size(), 1U);
      EXPECT_LT(trained.test[0].second, 0.5 * trained.losses.front());
    }
}

// It finds the leader's values at the same steps, for any number of workers.
TEST_F(WorkersTest, TheTestingGroupEvaluatesWhatWasThere) {
  const std::vector<std::string> often{"test.every={ steps = 7 }", "validate.every={ steps = 10 }",
                                       "checkpoint.every={ steps = 8 }", "layer.data.validate=20"};
  for (const int count : {1, 3}) {
    SCOPED_TRACE(concat(count, " workers"));
    const auto own = folder_ / concat("own-", count), beside = folder_ / concat("beside-", count);
    const auto leader = train(small_job(), workers(count, 1, often), 0, {}, own);
    auto settings = often;
    settings.push_back("topology.testing_group=true");
    const auto tested = train(small_job(), workers(count, 1, settings), 0, {}, beside);
    EXPECT_EQ(tested.losses, leader.losses);
    EXPECT_EQ(tested.evaluations, leader.evaluations);
    EXPECT_EQ(tested.evaluations.size(), 5U + 4U + 1U) << "and the last test, at the end";
    const auto best = [&](const std::string& folder) {
      return host_.disk().read_text(folder + "/best/params.safetensors");
    };
    ASSERT_TRUE(best(beside).ok()) << best(beside).status().message();
    EXPECT_EQ(*best(beside), *best(own));
  }
}

// Its result ends the run, a little later than the leader's would.
TEST_F(WorkersTest, WhatTheTestingGroupFindsStopsTheRun) {
  const std::string judged =
      small_job() + "[[layer]]\nname = \"accuracy\"\ntype = \"accuracy\"\nsrc = [\"fc2\", \"data:label\"]\n";
  const auto trained = train(judged, workers(2, 1,
                                             {"topology.testing_group=true", "test.every={ steps = 5 }",
                                              "train.stop.steps=100000", "train.stop.accuracy=0.5"}));
  EXPECT_NE(trained.outcome.reason.find("test accuracy reached"), std::string::npos) << trained.outcome.reason;
}

// With t of all groups, it is bulk synchronous.
TEST_F(WorkersTest, TheFirstOfAllIsStrict) {
  const std::vector<std::string> half{"train.batch=6"};
  const auto strict = train(small_job(), groups(2, "strict", half));
  const auto first = train(small_job(), groups(2, "{ type = \"first_t\", t = 2 }", half));
  for (const auto& [name, values] : strict.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], first.params.at(name)[i], 1e-5) << name;
  EXPECT_EQ(first.outcome.arrivals.came, 2 * 40U);
  EXPECT_EQ(first.outcome.arrivals.late, 0U);
  EXPECT_EQ(strict.outcome.arrivals.came, 0U);
}

TEST_F(WorkersTest, TheTimeOfAStepIsBrokenDown) {
  EXPECT_TRUE(train(small_job()).outcome.workers.empty());
  for (const auto& settings : {workers(2, 1), groups(2, "eventual", {"topology.codec=int8"})}) {
    const auto trained = train(small_job(), settings);
    ASSERT_EQ(trained.outcome.workers.size(), 2U);
    for (const auto& worker : trained.outcome.workers) {
      EXPECT_EQ(worker.steps, trained.outcome.progress.step);
      EXPECT_GT(worker.computing(), 0);
      EXPECT_GT(worker.params, 0);
      EXPECT_LE(worker.input + worker.params + worker.serving + worker.waiting, worker.seconds);
    }
    EXPECT_GT(trained.outcome.workers[0].serving, 0);
    EXPECT_GT(trained.outcome.workers[0].waiting + trained.outcome.workers[1].waiting, 0);
  }
}

TEST_F(WorkersTest, AnAsynchronousRunGoesOnFromItsCheckpoint) {
  const std::string checkpoints = folder_ / "checkpoints";
  const auto settings = groups(3, "bounded", {"checkpoint.every={ steps = 7 }", "updater.rate=0.01"});
  const auto first = train(small_job(), settings, 17, {}, checkpoints);
  EXPECT_EQ(first.outcome.ending, run::Ending::interrupted);
  const auto rest = train(small_job(), settings, 0, checkpoints);
  EXPECT_EQ(first.losses.size() + rest.losses.size(), 40U);
  EXPECT_LT(rest.losses.back(), first.losses.front());
}

std::string job_with(const std::string& updater) {
  std::string job = small_job();
  job.replace(job.find("type = \"sgd\"\nmomentum = 0.9"), 27, "type = \"" + updater + "\"");
  return job;
}

TEST_F(WorkersTest, EveryUpdaterWorks) {
  for (const std::string updater : {"adam", "adagrad", "rmsprop", "nadam", "lamb"}) {
    SCOPED_TRACE(updater);
    const std::vector<std::string> settings{"updater.rate=0.01", "updater.clip_value=0.01"};
    const std::string job = job_with(updater);
    expect_near(train(job, settings), train(job, workers(2, 2, settings)), 1e-5, 20);
  }
}

TEST_F(WorkersTest, ReproducibleSumsOverParamsAreThoseOfOneWorker) {
  const std::vector<std::string> same{"train.batch=16", "train.reproducible=true", "updater.rate=0.02"};
  const auto one = train(job_with("lamb"), same);
  for (const int count : {2, 4}) EXPECT_EQ(train(job_with("lamb"), workers(count, count, same)).params, one.params);
}

// Norms of all gradients and sums over cut params: servers exchange them.
TEST_F(WorkersTest, WhatNeedsSumsOverSlicesIsThatOfOneWorker) {
  for (const std::string updater : {"sgd", "lamb"})
    for (const std::string norm : {"0.05", "0"}) {
      if (updater == "sgd" && norm == "0") continue; // needs no sums
      const std::vector<std::string> settings{"updater.rate=0.02", "updater.clip_norm=" + norm};
      const auto one = train(job_with(updater), settings);
      for (const int count : {2, 3, 4})
        for (const int servers : {1, count}) {
          SCOPED_TRACE(concat(updater, ", norm ", norm, ", ", count, " workers, ", servers, " servers"));
          expect_near(one, train(job_with(updater), workers(count, servers, settings)), 1e-5, 20);
        }
    }
}

// A reached norm clips: training differs from that without clipping.
TEST_F(WorkersTest, ANormThatIsReachedChangesTheSteps) {
  const auto free = train(small_job(), workers(2, 2)),
             wide = train(small_job(), workers(2, 2, {"updater.clip_norm=1e6"}));
  EXPECT_EQ(free.losses, wide.losses);
  const auto clipped = train(small_job(), workers(2, 2, {"updater.clip_norm=0.05"}));
  EXPECT_GT(clipped.losses.back(), 1.05 * free.losses.back());
}

TEST_F(WorkersTest, SumsAreTheSameTwiceAndWhenItIsResumed) {
  for (const std::string norm : {"0.05", "0"}) {
    const std::string checkpoints = folder_ / ("checkpoints" + norm);
    const auto settings = workers(3, 3, {"updater.rate=0.02", "updater.clip_norm=" + norm});
    const auto whole = train(job_with("lamb"), settings);
    EXPECT_EQ(train(job_with("lamb"), settings).params, whole.params);
    const auto first = train(job_with("lamb"), settings, 17, {}, checkpoints);
    const auto rest = train(job_with("lamb"), settings, 0, checkpoints);
    ASSERT_EQ(first.losses.size() + rest.losses.size(), whole.losses.size());
    EXPECT_TRUE(std::equal(rest.losses.begin(), rest.losses.end(), whole.losses.begin() + 17));
    EXPECT_EQ(rest.params, whole.params);
  }
}

// Evaluations and checkpoints see whole versions, because they wait for pending sums.
TEST_F(WorkersTest, EvaluationsSeeWhatIsMadeOfSums) {
  const std::vector<std::string> often{"updater.rate=0.02", "updater.clip_norm=0.05", "test.every={ steps = 1 }",
                                       "checkpoint.every={ steps = 1 }"};
  const auto one = train(job_with("lamb"), often, 0, {}, folder_ / "one");
  const auto several = train(job_with("lamb"), workers(4, 4, often), 0, {}, folder_ / "several");
  expect_near(one, several, 1e-5, 20);
  EXPECT_NEAR(several.test[0].second, one.test[0].second, 1e-3);
}

// If all groups make a version together, its norm is that of their sum.
TEST_F(WorkersTest, ClippingUnderTheFirstOfAllIsStrict) {
  const std::vector<std::string> half{"train.batch=6", "updater.clip_norm=0.05", "topology.servers_per_group=2"};
  const auto one = train(small_job(), {"updater.clip_norm=0.05"});
  const auto strict = train(small_job(), groups(2, "strict", half));
  expect_near(one, strict, 1e-5, 20);
  const auto first = train(small_job(), groups(2, "{ type = \"first_t\", t = 2 }", half));
  for (const auto& [name, values] : strict.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], first.params.at(name)[i], 1e-5) << name;
}

TEST_F(WorkersTest, EveryHandlerClipsAndSums) {
  for (const std::string handler : {"eventual", "{ type = \"eventual\", push = 3, fetch = 3 }", "elastic", "hogwild",
                                    "bounded", "first_t", "backup", "{ type = \"first_t\", late = \"fold\" }",
                                    "{ type = \"first_t\", choose = \"slice\", late = \"fold\" }"})
    for (const std::string updater : {"sgd", "lamb"}) {
      SCOPED_TRACE(concat(handler, ", ", updater));
      // A step of lamb has the same length for any share of the batch.
      const std::string rate = updater == "lamb" ? "0.002" : "0.03";
      auto settings = groups(3, handler, {"train.batch=6", "train.stop.steps=200", "updater.rate=" + rate});
      settings.push_back("updater.clip_norm=0.5");
      if (!has_own_values(handler)) settings.push_back("topology.workers_per_group=2");
      settings.push_back("topology.servers_per_group=3");
      settings.push_back("test.every={ steps = 50 }");
      const auto trained = train(job_with(updater), settings);
      EXPECT_EQ(trained.losses.size(), 200U);
      ASSERT_EQ(trained.test.size(), 1U);
      EXPECT_LT(trained.test[0].second, 0.7 * trained.losses.front());
    }
}

// Separate updates of groups of one worker: no step is longer than the norm allows.
TEST_F(WorkersTest, AContributionOfItsOwnIsClippedByItsOwnNorm) {
  const std::vector<std::string> settings{"train.stop.steps=1", "updater.rate=1.0", "updater.clip_norm=0.01"};
  const auto start = train(job_with("sgd"), {"train.stop.steps=1", "updater.rate=0.0"});
  const auto moved = train(job_with("sgd"), groups(2, "eventual", settings));
  double squares = 0;
  for (const auto& [name, values] : start.params)
    for (std::size_t i = 0; i < values.size(); ++i)
      squares += std::pow(static_cast<double>(moved.params.at(name)[i] - values[i]), 2);
  EXPECT_LE(std::sqrt(squares), 2 * 0.01 * 1.0001); // one step of each group
  EXPECT_GE(std::sqrt(squares), 0.01 * 0.5);
}

TEST_F(WorkersTest, ABatchThatIsNotFullAndMicroBatches) {
  for (const std::string last : {"partial", "wrap"}) {
    const std::vector<std::string> settings{"train.last_batch=\"" + last + "\""};
    const auto one = train(small_job(), settings), several = train(small_job(), workers(4, 4, settings));
    expect_near(one, several, 1e-5, 20);
    EXPECT_EQ(one.outcome.progress.items, several.outcome.progress.items);
  }
  const auto whole = train(small_job());
  const auto cut = train(small_job(), workers(2, 2, {"train.algorithm={ type = \"bp\", micro_batches = 3 }"}));
  for (const auto& [name, values] : whole.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], cut.params.at(name)[i], 1e-5) << name;
}

TEST_F(WorkersTest, DrawsAndPlacesOfRowsAreThoseOfOneWorker) {
  std::string job = small_job();
  job.replace(job.find("src = \"act\""), 11, "src = \"drop\"");
  job += "[[layer]]\nname = \"drop\"\ntype = \"dropout\"\nsrc = \"act\"\n";
  const auto move = job.find("[[layer]]\nname = \"fc2\"");
  const std::string rest = job.substr(move, job.find("[[layer]]\nname = \"drop\"") - move);
  job.erase(move, rest.size());
  job += rest;
  expect_near(train(job), train(job, workers(3, 3)), 1e-5, 20);
}

TEST_F(WorkersTest, WhatOneWorkerCannotDoEndsTheRunAndIsNamed) {
  Trained trained;
  std::string text = small_job();
  ASSERT_TRUE(host_.disk().write_text(folder_ / "job.toml", text).ok());
  // The rate overflows the params; the first worker that sees the loss tells the others.
  const auto job = config::load(host_.disk(), folder_ / "job.toml", workers(4, 2, {"updater.rate=1e38"}), *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const Status status = run(*job, trained, 0, {}, {});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(trained.outcome.ending, run::Ending::diverged);
  EXPECT_NE(trained.outcome.reason.find("loss"), std::string::npos) << trained.outcome.reason;
}

TEST_F(WorkersTest, WhatIsNotThereYetIsRefused) {
  ASSERT_TRUE(host_.disk().write_text(folder_ / "job.toml", small_job()).ok());
  const auto told = [&](std::vector<std::string> settings) {
    const auto job = config::load(host_.disk(), folder_ / "job.toml", settings, *registry_);
    if (!job.ok()) return job.status().message();
    Trained trained;
    return run(*job, trained, 0, {}, {}).message();
  };
  EXPECT_NE(
      told(groups(2, "elastic", {"topology.codec={ type = \"top_k\", feedback = false }"})).find("set feedback = true"),
      std::string::npos);
  EXPECT_NE(told(workers(2, 2, {"train.reproducible=true", "train.batch=16", "topology.codec=\"bf16\""}))
                .find("train.reproducible with topology.codec"),
            std::string::npos);
  EXPECT_NE(told(workers(2, 2, {"train.reproducible=true", "train.batch=16", "updater.clip_norm=1.0"}))
                .find("train.reproducible with updater.clip_norm"),
            std::string::npos);
  EXPECT_NE(told(workers(3, 1, {"train.reproducible=true"})).find("cannot share equally"), std::string::npos);
  EXPECT_NE(told(groups(2, "eventual", {"train.reproducible=true"})).find("in the order in which they come"),
            std::string::npos);
  auto pairs = groups(2, "elastic");
  pairs.push_back("topology.workers_per_group=2");
  EXPECT_NE(told(pairs).find("consistency 'elastic', whose workers update values of their own, with 2 workers a group"),
            std::string::npos);
  EXPECT_NE(told(workers(2, 3)).find("ask for as many at most"), std::string::npos);
  EXPECT_NE(told(workers(13, 1)).find("has no row for some of them"), std::string::npos);
}

} // namespace
} // namespace dlhost::test
