// Workers that each hold all params, and whose devices sum the gradients of each step: training equals one worker's, on
// any device, and after resuming anywhere.
#include "several.h"

namespace dlhost::test {
namespace {

class SumsOnDevicesTest : public Bench {
 protected:
  static std::vector<std::string> alone(int count, std::vector<std::string> more = {}) {
    more.push_back("topology.device_copies=none");
    return workers(count, 1, std::move(more));
  }
  static std::vector<std::string> far(std::vector<std::string> more = {}) {
    more.push_back("train.device={ type = \"ref\", far = true }");
    return more;
  }
  // Compares several workers with one.
  void expect_one_workers(const std::string& job, const std::vector<std::string>& way, int count = 3) {
    const auto one = train(job, way);
    EXPECT_FALSE(one.test.empty());
    const auto several = train(job, alone(count, way));
    expect_near(one, several, 1e-5, one.losses.size());
    const auto behind = train(job, alone(count, far(way)));
    EXPECT_EQ(behind.losses, several.losses);
    EXPECT_EQ(behind.params, several.params);
    EXPECT_EQ(behind.evaluations, several.evaluations);
  }
  void expect_refused(const std::vector<std::string>& set, const std::string& why) {
    EXPECT_TRUE(host_.disk().write_text(folder_ / "job.toml", small_job()).ok());
    const auto job = config::load(host_.disk(), folder_ / "job.toml", set, *registry_);
    ASSERT_TRUE(job.ok()) << job.status().message();
    Trained trained;
    const Status status = run(*job, trained, 0, "", "");
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  }
};

TEST_F(SumsOnDevicesTest, ItIsOneWorkersTraining) {
  for (const int count : {2, 3, 4}) {
    SCOPED_TRACE(concat(count, " workers"));
    expect_one_workers(small_job(), {}, count);
  }
  // On a near device: each far device reserves more addresses than some sanitizers leave.
  const auto one = train(small_job());
  expect_near(one, train(small_job(), alone(7)), 1e-5, one.losses.size());
}

TEST_F(SumsOnDevicesTest, WhateverTheJobIsLike) {
  const std::vector<std::string> ways[] = {
      {"updater.clip_norm=0.05"},
      {"updater={ type = \"adam\", rate = 0.01 }"},
      {"updater={ type = \"lamb\", rate = 0.01 }"},
      {"train.last_batch=\"partial\""},
      {"test.every={ steps = 3 }", "validate.every={ steps = 2 }", "layer.data.validate=20"},
      {"layer.fc1.param.bias.frozen=true"},
  };
  for (const auto& way : ways) {
    SCOPED_TRACE(way[0]);
    expect_one_workers(small_job(), way, 2);
  }
  const auto one = train(small_job(), {"train.dtype=bf16"});
  expect_near(one, train(small_job(), alone(2, {"train.dtype=bf16"})), 2e-2, 10);
}

// Losses are of each micro-batch, which has other samples with two workers; params are of all.
TEST_F(SumsOnDevicesTest, MicroBatchesAreSummedFirst) {
  const std::vector<std::string> cut{"train.algorithm={ type = \"bp\", micro_batches = 2 }", "train.batch=16"};
  const auto one = train(small_job(), cut), two = train(small_job(), alone(2, far(cut)));
  for (const auto& [name, values] : one.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], two.params.at(name)[i], 1e-5) << name;
}

// Masters are in the leader's blocked format for all workers, with any number of rows.
TEST_F(SumsOnDevicesTest, RowsMayDifferAndFormatsMayBeOthers) {
  const std::string blocked = R"(train.device={ type = "ref", far = true, formats = "blocked" })";
  const auto one = train(small_job());
  expect_near(one, train(small_job(), alone(3, {blocked})), 1e-5, 20);
  expect_near(one, train(small_job(), alone(3, {"topology.batch_shares=[3, 1, 2]"})), 1e-5, 20);
}

TEST_F(SumsOnDevicesTest, GroupsThatMakeEachStepTogether) {
  const std::vector<std::string> groups{"topology.worker_groups=2", "train.batch=6", "topology.group_data=shared"};
  const auto shared = train(small_job(), workers(2, 1, groups));
  expect_near(shared, train(small_job(), alone(2, groups)), 1e-5, shared.losses.size());
}

TEST_F(SumsOnDevicesTest, ItGoesOnAsIfItHadNotStopped) {
  for (const auto& way : {std::vector<std::string>{}, {"updater={ type = \"adam\", rate = 0.01 }"}}) {
    expect_resumed_alike(small_job(), alone(3, way), 17);
    expect_resumed_alike(normed_job(), alone(2, far(way)), 15);
  }
}

// From a run with servers to one without, and the other way round.
TEST_F(SumsOnDevicesTest, ItGoesOnFromACheckpointOfEither) {
  const auto whole = train(small_job());
  for (const bool servers_first : {false, true}) {
    const std::string saved = folder_ / (servers_first ? "servers" : "devices");
    const auto first = servers_first ? workers(2, 2) : alone(2), second = servers_first ? alone(2) : workers(2, 2);
    train(small_job(), first, 17, {}, saved);
    const auto rest = train(small_job(), second, 0, saved);
    ASSERT_EQ(rest.losses.size() + 17, whole.losses.size());
    for (std::size_t i = 0; i < rest.losses.size(); ++i)
      EXPECT_NEAR(rest.losses[i], whole.losses[i + 17], 1e-5 * std::abs(whole.losses[i + 17])) << "step " << i + 17;
  }
}

TEST_F(SumsOnDevicesTest, RunningStateIsEverybodys) {
  const std::vector<std::string> tested{"test.every={ steps = 5 }"};
  const auto shared = train(normed_job(), workers(3, 1, tested));
  const auto near_by = train(normed_job(), alone(3, tested)), far_off = train(normed_job(), alone(3, far(tested)));
  expect_near(shared, near_by, 1e-4, shared.losses.size());
  EXPECT_EQ(far_off.evaluations, near_by.evaluations);
  EXPECT_EQ(far_off.params, near_by.params);
}

TEST_F(SumsOnDevicesTest, MachinesToo) {
  if (const std::string why = no_machines(*registry_); !why.empty()) GTEST_SKIP() << why;
  expect_near(train(small_job()), train(small_job(), alone(4, {"topology.machines=2"})), 1e-5, 20);
}

TEST_F(SumsOnDevicesTest, WhatGoesThroughServersIsRefused) {
  expect_refused(alone(2, {"topology.codec=\"int8\""}), "topology.codec could encode; leave it out");
  expect_refused(alone(2, {"topology.device=\"ref\""}), "leave it out");
  expect_refused(alone(2, {"topology.replicas=2"}), "leave topology.replicas out");
  expect_refused(alone(2, {"train.reproducible=true", "train.batch=16"}), "leave train.reproducible out");
  expect_refused(alone(2, {"topology.consistency=eventual"}), "which is what 'strict' does");
  if (registry_->find(Kind::device, "cpu"))
    expect_refused(alone(2, {"train.device=cpu"}), "device 'cpu': it cannot sum among several devices");
}

} // namespace
} // namespace dlhost::test
