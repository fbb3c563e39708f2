// Training on a device whose memory the host cannot reach; batches are delivered to it.
#include "trained.h"

namespace dlhost::test {
namespace {

using FarMemoryTest = Bench;

// Two sources: the labels of the first are used on the host and on the device, the rest only on the device.
std::string fed_job() {
  std::string job = small_job("ref", R"(
[validate]
every = { steps = 7 }
[[layer]]
name = "more"
type = "synthetic"
mode = "gaussian"
shape = [7]
train = 50
test = 20
[[layer]]
name = "both"
type = "add"
src = ["data", "more"]
[[layer]]
name = "accuracy"
type = "accuracy"
src = ["fc2", "data:label"]
)");
  job.replace(job.find("src = \"data\"\nunits"), 12, "src = \"both\"");
  return job;
}

// Batches delivered a step ahead equal the read ones: at ends of epochs, in evaluations between steps, in frames at the
// device's alignment (8 rows of 8 numbers) or not, and in a resumed run.
TEST_F(FarMemoryTest, ChangesNothing) {
  const std::string far = "train.device={ type = \"ref\", far = true }";
  const std::string eight = "layer.data.shape=[8]", more_of_eight = "layer.more.shape=[8]";
  const std::vector<std::string> ways[] = {
      {},
      {"train.last_batch=partial"},
      {"train.readers=0"},
      {"train.readers=3", "train.prefetch=1"},
      {"train.algorithm={ type = \"bp\", micro_batches = 3 }"},
      {eight, more_of_eight, "train.batch=16", "train.algorithm={ type = \"bp\", micro_batches = 2 }"},
  };
  for (std::vector<std::string> set : ways) {
    const auto near_by = train(fed_job(), set);
    set.push_back(far);
    const auto far_off = train(fed_job(), set);
    EXPECT_EQ(far_off.losses, near_by.losses) << set[0];
    EXPECT_EQ(far_off.params, near_by.params) << set[0];
    EXPECT_EQ(far_off.evaluations, near_by.evaluations) << set[0];
    EXPECT_EQ(far_off.test, near_by.test) << set[0];
    EXPECT_FALSE(near_by.test.empty());
  }
  expect_resumed_alike(fed_job(), {far}, 17);
}

// A device reports its memory size: a job that does not fit is refused before allocation, and the suggested batch fits.
TEST_F(FarMemoryTest, WhatDoesNotFitThereIsRefusedWithTheBatchThatDoes) {
  const std::vector<std::string> wide{"train.device={ type = \"ref\", far = true, memory = 16 }",
                                      "layer.fc1.units=2000", "layer.data.train=2000", "train.stop.steps=3"};
  const auto outcome = [&](std::int64_t batch, std::int64_t tested) {
    auto set = wide;
    set.insert(set.end(), {concat("train.batch=", batch), concat("test.batch=", tested)});
    EXPECT_TRUE(host_.disk().write_text(folder_ / "job.toml", small_job()).ok());
    const auto job = config::load(host_.disk(), folder_ / "job.toml", set, *registry_);
    EXPECT_TRUE(job.ok()) << job.status().message();
    Trained trained;
    return run(*job, trained, 0, "", "");
  };
  const Status refused = outcome(1000, 20);
  ASSERT_EQ(refused.code(), Code::no_space) << refused.message();
  const std::string& said = refused.message();
  EXPECT_NE(said.find("of the memory of device 'ref'"), std::string::npos) << said;
  EXPECT_NE(said.find("features, gradients and buffers of layer 'fc1'"), std::string::npos) << said;
  const std::string key = "train.batch = ";
  ASSERT_NE(said.find(key), std::string::npos) << said;
  const std::int64_t fits = std::stoll(said.substr(said.find(key) + key.size()));
  EXPECT_GT(fits, 10) << said;
  const Status fitting = outcome(fits * 9 / 10, 20);
  EXPECT_TRUE(fitting.ok()) << fitting.message();
  // The evaluation net needs memory in addition to the training net.
  const Status tested = outcome(fits * 9 / 10, fits);
  EXPECT_EQ(tested.code(), Code::no_space);
  EXPECT_NE(tested.message().find("test.batch = "), std::string::npos) << tested.message();
}

} // namespace
} // namespace dlhost::test
