// Training on a device whose memory the host cannot reach, to which batches are delivered.
#include "trained.h"

namespace dlhost::test {
namespace {

using FarMemoryTest = Bench;

// Two sources; the labels of the first are read on the host and on the device, the rest on the device alone.
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

// What is brought to the device a step ahead is what was read, at ends of epochs, in evaluations between the steps, in
// frames that begin where the device wants memory to (8 rows of 8 numbers) or elsewhere, and when a run goes on.
TEST_F(FarMemoryTest, ChangesNothing) {
  const std::string far = "train.device={ type = \"ref\", far = true }";
  const std::string eight = "layer.data.shape=[8]", more_of_eight = "layer.more.shape=[8]";
  const std::vector<std::string> ways[] = {
      {},
      {"train.last=partial"},
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

} // namespace
} // namespace dlhost::test
