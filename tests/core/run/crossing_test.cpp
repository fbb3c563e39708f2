// Workers whose device memory the host cannot reach: gradients are copied out, and new values in. Training equals that
// of workers whose device shares the host's memory, bit for bit.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "several.h"

namespace dlhost::test {
namespace {

class CrossingTest : public Bench {
 protected:
  static std::vector<std::string> apart(std::vector<std::string> set) {
    set.insert(set.end(), {"train.device={ type = \"ref\", far = true }", "topology.device=\"ref\""});
    return set;
  }

  // With copies that computing waits for, and with asynchronous ones.
  void expect_alike(const std::string& job, const std::vector<std::string>& set) {
    const auto near_by = train(job, set);
    EXPECT_FALSE(near_by.test.empty());
    for (const char* copy : {"sync", "async"}) {
      SCOPED_TRACE(copy);
      auto settings = apart(set);
      settings.push_back(concat("topology.device_copies=", copy));
      const auto far_off = train(job, settings);
      EXPECT_EQ(far_off.losses, near_by.losses);
      EXPECT_EQ(far_off.params, near_by.params);
      EXPECT_EQ(far_off.factored, near_by.factored);
      EXPECT_EQ(far_off.evaluations, near_by.evaluations);
      EXPECT_EQ(far_off.test, near_by.test);
    }
  }
};

TEST_F(CrossingTest, InStepNothingIsOtherThanNearBy) {
  for (const auto& [count, servers] : {std::pair{2, 1}, {2, 2}, {4, 3}}) {
    SCOPED_TRACE(concat(count, " workers, ", servers, " servers"));
    expect_alike(small_job(), workers(count, servers));
    expect_alike(small_job(), workers(count, servers, {"topology.gradient_factors=on"}));
  }
}

TEST_F(CrossingTest, WhateverCrosses) {
  const std::vector<std::string> ways[] = {
      {"updater.clip_norm=0.05"},
      {"updater={ type = \"lamb\", rate = 0.01 }"},
      {"topology.codec=\"int8\""},
      {"topology.codec=\"power_sgd\""},
      {"train.algorithm={ type = \"bp\", micro_batches = 2 }", "train.batch=16"},
      {"train.reproducible=true", "train.batch=16"},
      {"train.last_batch=\"partial\""},
      {"test.every={ steps = 3 }", "validate.every={ steps = 2 }", "layer.data.validate=20"},
      {"train.dtype=bf16"},
      {"train.dtype=bf16", "topology.gradient_factors=on"},
  };
  for (const auto& way : ways) {
    SCOPED_TRACE(way[0]);
    expect_alike(small_job(), workers(2, 2, way));
  }
}

// The device computes in its own blocked formats; shared params are plain.
TEST_F(CrossingTest, FormatsOfTheDeviceStayThere) {
  const std::string blocked = R"({ type = "ref", far = true, formats = "blocked" })";
  for (const char* masters : {"cpu", "ref"}) {
    if (!registry_->find(Kind::device, masters)) continue;
    SCOPED_TRACE(masters);
    const auto settings = workers(3, 2, {"train.device=" + blocked, concat("topology.device=", masters)});
    expect_near(train(small_job()), train(small_job(), settings), 1e-5, 20);
  }
}

TEST_F(CrossingTest, ParamsLieWithTheProcessorsWhereNothingIsSaid) {
  if (!registry_->find(Kind::device, "cpu")) GTEST_SKIP() << "there is no cpu device";
  const auto settings = workers(2, 2, {"train.device={ type = \"ref\", far = true }"});
  expect_near(train(small_job()), train(small_job(), settings), 1e-5, 20);
}

// Two devices on the host use the same path.
TEST_F(CrossingTest, ParamsMayLieWithAnotherDeviceNearBy) {
  const auto settings = workers(2, 2);
  auto named = settings;
  named.push_back("topology.device=\"ref\"");
  const auto one = train(small_job(), settings), apart = train(small_job(), named);
  EXPECT_EQ(apart.losses, one.losses);
  EXPECT_EQ(apart.params, one.params);
}

// Running state is averaged in a pause of all workers and continues from there, also after two evaluations in a step.
TEST_F(CrossingTest, RunningStateIsEverybodys) {
  expect_alike(normed_job(), workers(3, 2, {"test.every={ steps = 5 }"}));
  expect_resumed_alike(normed_job(), apart(workers(2, 1)), 15);
  const std::vector<std::string> often{"test.every={ steps = 5 }", "validate.every={ steps = 5 }",
                                       "layer.data.validate=20"};
  const auto near_by = train(normed_job(), workers(2, 1, often), 0, {}, folder_ / "near", folder_ / "points");
  const auto far_off = train(normed_job(), apart(workers(2, 1, often)), 0, {}, folder_ / "far", folder_ / "points");
  EXPECT_EQ(far_off.evaluations, near_by.evaluations);
  EXPECT_EQ(far_off.params, near_by.params);
}

TEST_F(CrossingTest, ItGoesOnFromACheckpointOfEither) {
  expect_resumed_alike(small_job(), apart(workers(3, 2)), 17);
  const auto whole = train(small_job(), workers(2, 2));
  const std::string saved = folder_ / "saved";
  train(small_job(), apart(workers(2, 2)), 17, {}, saved);
  EXPECT_EQ(train(small_job(), workers(2, 2), 0, saved).params, whole.params);
}

TEST_F(CrossingTest, EveryHandlerLearns) {
  const std::vector<std::string> slowly{"train.batch=6",
                                        "train.stop.steps=120",
                                        "updater.rate=0.01",
                                        "topology.worker_groups=3",
                                        "topology.servers_per_group=2",
                                        "topology.slice_elements=20",
                                        "test.every={ steps = 50 }"};
  for (const std::string handler : {"eventual", "{ type = \"eventual\", push = 3, fetch = 2 }", "elastic", "hogwild",
                                    "bounded", "{ type = \"first_t\", t = 2 }",
                                    "{ type = \"first_t\", t = 2, choose = \"slice\", late = \"fold\" }", "backup"}) {
    SCOPED_TRACE(handler);
    auto settings = apart(slowly);
    settings.push_back("topology.consistency=" + handler);
    const auto trained = train(small_job(), settings);
    EXPECT_EQ(trained.losses.size(), 120U);
    ASSERT_EQ(trained.test.size(), 1U);
    EXPECT_LT(trained.test[0].second, 0.5 * trained.losses.front());
  }
}

TEST_F(CrossingTest, ServerGroupsAndMachines) {
  expect_alike(small_job(), {"topology.worker_groups=2", "topology.server_groups=2", "topology.sync=\"all_to_all\"",
                             "train.batch=6", "topology.slice_elements=20"});
  if (const std::string why = no_machines(*registry_); !why.empty()) GTEST_SKIP() << why;
  expect_alike(small_job(), workers(4, 4, {"topology.machines=2"}));
  expect_alike(normed_job(), workers(2, 2, {"topology.machines=2"}));
}

// One worker shares and copies nothing by default. If the job asks for copies, its gradients go to a server and the
// values come back.
TEST_F(CrossingTest, OneWorkerKeepsItsParamsWhereItComputesUnlessItIsTold) {
  expect_alike(small_job(), {});
  for (const char* copy : {"auto", "none"})
    EXPECT_EQ(train(small_job(), apart({concat("topology.device_copies=", copy)})).outcome.workers.size(), 0U) << copy;
  EXPECT_EQ(train(small_job(), apart({"topology.device_copies=async"})).outcome.workers.size(), 1U);
  EXPECT_EQ(train(small_job(), {"topology.device_copies=sync"}).params, train(small_job()).params);
}

TEST_F(CrossingTest, SeveralFramesLeaveOneSum) {
  expect_alike(
      small_job(),
      workers(2, 2, {"train.dtype=bf16", "train.algorithm={ type = \"bp\", micro_batches = 2 }", "train.batch=16"}));
}

TEST_F(CrossingTest, WhatServersCannotReachIsRefused) {
  ASSERT_TRUE(host_.disk().write_text(folder_ / "job.toml", small_job()).ok());
  const auto job = config::load(host_.disk(), folder_ / "job.toml",
                                workers(2, 2, {"topology.device={ type = \"ref\", far = true }"}), *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  Trained trained;
  const std::string told = run(*job, trained, 0, {}, {}).message();
  EXPECT_NE(told.find("device 'ref' has memory that the host cannot reach"), std::string::npos) << told;
  EXPECT_NE(told.find("topology.device"), std::string::npos) << told;
}

// Copies left queued would write into the table's memory, which is freed before the device: AddressSanitizer would
// detect it.
TEST_F(CrossingTest, AStepThatFailsLeavesNoCopiesQueued) {
  const std::string lost = folder_ / "lost";
  for (const char* copy : {"sync", "async"}) {
    SCOPED_TRACE(copy);
    ASSERT_TRUE(host_.disk().write_text(folder_ / "job.toml", small_job()).ok());
    const auto job = config::load(
        host_.disk(), folder_ / "job.toml",
        workers(3, 2,
                {concat("train.device={ type = \"ref\", far = true, lost_with = \"", lost, "\" }"),
                 "topology.device=\"ref\"", concat("topology.device_copies=", copy), "train.stop.steps=1000000"}),
        *registry_);
    ASSERT_TRUE(job.ok()) << job.status().message();
    std::thread losing([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_TRUE(host_.disk().write_text(lost, std::to_string(::getpid())).ok());
    });
    Trained trained;
    const Status status = run(*job, trained, 0, {}, {});
    losing.join();
    EXPECT_TRUE(host_.disk().remove(lost).ok());
    EXPECT_NE(status.message().find("the device is lost"), std::string::npos) << status.message();
  }
}

} // namespace
} // namespace dlhost::test
