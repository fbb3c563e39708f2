// A resumed run equals one that never stopped, with all features that draw or carry state between steps.
#include <nlohmann/json.hpp>

#include "trained.h"

namespace dlhost::test {
namespace {

constexpr const char* drawing_job = R"(name = "drawing"
seed = 4
[train]
batch = 4
threads = 1
stop = { steps = 9 }
[updater]
type = "adam"
rate = { type = "cosine", base = 0.01, warmup = 3 }
[[layer]]
name = "data"
type = "synthetic"
shape = [3, 8, 8]
classes = 4
train = 18
test = 8
mode = "learnable"
augment = [{ type = "pad_crop", pad = 1 }, "mirror"]
[[layer]]
name = "conv"
type = "convolution"
src = "data"
filters = 16
kernel = 3
pad = 1
[[layer]]
name = "norm"
type = "batch_norm"
src = "conv"
[[layer]]
name = "act"
type = "relu"
src = "norm"
[[layer]]
name = "drop"
type = "dropout"
src = "act"
ratio = 0.3
[[layer]]
name = "fc"
type = "dense"
units = 4
src = "drop"
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc", "data:label"]
)";

class ResumeTest : public Bench, public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Devices, ResumeTest,
                         ::testing::Values(std::pair("ref", "f32"), std::pair("ref", "bf16"), std::pair("cpu", "f32"),
                                           std::pair("cpu", "bf16")),
                         [](const auto& each) { return std::string(each.param.first) + "_" + each.param.second; });

TEST_P(ResumeTest, BitForBit) {
  const auto [device, dtype] = GetParam();
  if (!registry_->find(Kind::device, device)) GTEST_SKIP() << "this build has no device " << device;
  if (dtype == std::string("bf16") && !computes(device, DType::bf16))
    GTEST_SKIP() << "device " << device << " does not compute in bf16 here";
  const std::vector<std::string> set{concat("train.device=", device), concat("train.dtype=", dtype)};
  const std::string checkpoints = folder_ / "checkpoints";
  const auto whole = train(drawing_job, set);
  const auto first = train(drawing_job, set, 5, {}, checkpoints); // in the second epoch of four steps
  ASSERT_EQ(first.losses.size(), 5U);
  const auto rest = train(drawing_job, set, 0, checkpoints);
  ASSERT_EQ(whole.losses.size(), 9U);
  EXPECT_EQ(rest.losses, std::vector(whole.losses.begin() + 5, whole.losses.end()));
  EXPECT_EQ(rest.params, whole.params);
  EXPECT_EQ(rest.test, whole.test); // with the norm's running means
}

// Servers died within a step: some slices have it, others do not. A point before the first new step records that.
TEST_F(ResumeTest, APointBeforeTheFirstStepSaysWhatItBeganWith) {
  const std::string checkpoints = folder_ / "checkpoints", points = folder_ / "recovery";
  const std::vector<std::string> set{"topology.worker_groups=2", "topology.consistency=\"eventual\"",
                                     "topology.replicas=2",      "recovery.every={}",
                                     "validate.every={}",        "test.every={}"};
  train(small_job(), set, 5, {}, checkpoints);
  auto files = run::Checkpoints::find(host_, checkpoints);
  ASSERT_TRUE(files.ok()) << files.status().message();
  auto& workers = files->manifest->at("run").at("training").at("workers");
  const nlohmann::json nobody_else = nlohmann::json::array();
  const nlohmann::json slices = {
      {10, {5, 5}, nobody_else}, {9, {5, 4}, nobody_else}, {9, {4, 5}, nobody_else}, {8, {4, 4}, nobody_else}};
  workers["slices"] = slices;
  auto job = config::load(host_.disk(), folder_ / "job.toml", set, *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  auto session = run::Session::open(host_, *registry_, *job);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::atomic<bool> interrupted{true}; // after the first step
  run::Training training(**session, interrupted);
  ASSERT_TRUE(training.prepare().ok());
  ASSERT_TRUE(training.resume(*files).ok());
  run::Checkpoints secured(**session, points, 1);
  training.recover_from(&secured, true);
  struct Nobody final : run::Observer {
    Status on_step(const run::Progress&, program::Program&) override { return {}; }
    Status on_evaluation(const run::Progress&, Phase, const run::Evaluation&) override { return {}; }
  } nobody;
  ASSERT_TRUE(training.run(nobody).error.ok());
  const auto written = run::Checkpoints::find(host_, points);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->manifest->at("run").at("training").at("workers").at("slices"), slices);
}

} // namespace
} // namespace dlhost::test
