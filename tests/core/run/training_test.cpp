#include <cmath>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "several.h"

namespace dlhost::test {
namespace {

using TrainingTest = Bench;

TEST_F(TrainingTest, LearnsAndIsTheSameTwice) {
  const auto one = train(small_job());
  const auto two = train(small_job());
  EXPECT_LT(one.losses.back(), 0.5 * one.losses.front());
  EXPECT_EQ(one.losses, two.losses);
  EXPECT_EQ(one.params, two.params);
}

TEST_F(TrainingTest, MicroBatchesAddUpToTheBatch) {
  const auto whole = train(small_job());
  const auto cut = train(small_job(), {"train.algorithm={ type = \"bp\", micro_batches = 3 }"});
  for (const auto& [name, values] : whole.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], cut.params.at(name)[i], 1e-5) << name;
}

TEST_F(TrainingTest, FrozenParamsStayAndNothingBelowLearns) {
  const auto start = train(small_job(), {"train.stop.steps=1", "updater.rate=0.0"});
  const auto frozen = train(small_job(), {"layer.fc1.frozen=true"});
  EXPECT_EQ(frozen.params.at("fc1.weight"), start.params.at("fc1.weight"));
  EXPECT_NE(frozen.params.at("fc2.weight"), start.params.at("fc2.weight"));
}

TEST_F(TrainingTest, ResumedEqualsNeverStopped) {
  const std::string checkpoints = folder_ / "checkpoints";
  const auto whole = train(small_job());
  const auto first = train(small_job(), {}, 17, {}, checkpoints);
  EXPECT_EQ(first.outcome.ending, run::Ending::interrupted);
  EXPECT_EQ(first.losses.size(), 17U);
  const auto rest = train(small_job(), {}, 0, checkpoints);
  EXPECT_EQ(rest.losses.size(), whole.losses.size() - 17);
  EXPECT_TRUE(std::equal(rest.losses.begin(), rest.losses.end(), whole.losses.begin() + 17));
  EXPECT_EQ(rest.params, whole.params);
}

TEST_F(TrainingTest, InterruptedInItsLastStepItHasNoneLeft) {
  const std::string checkpoints = folder_ / "checkpoints";
  const auto first = train(small_job(), {}, 40, {}, checkpoints);
  EXPECT_EQ(first.outcome.ending, run::Ending::interrupted);
  const auto rest = train(small_job(), {}, 0, checkpoints);
  EXPECT_EQ(rest.outcome.ending, run::Ending::finished);
  EXPECT_EQ(rest.losses.size(), 0U);
  EXPECT_EQ(rest.params, first.params);
}

// A run whose leader dies after its last recovery point and before its last checkpoint.
TEST_F(TrainingTest, GoingOnFromARecoveryPointItStillWritesItsCheckpoint) {
  const std::string checkpoints = folder_ / "checkpoints", points = folder_ / "recovery";
  const std::vector<std::string> set = {"checkpoint.every={}", "recovery.every={ steps = 1 }"};
  const auto first = train(small_job(), set, 0, {}, {}, points);
  const auto rest = train(small_job(), set, 0, points, checkpoints);
  EXPECT_EQ(rest.losses.size(), 0U);
  const auto written = run::Checkpoints::find(host_, checkpoints);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(run::Checkpoints::step_of(*written), 40U);
  EXPECT_EQ(rest.params, first.params);
}

TEST_F(TrainingTest, AdamResumesItsHistory) {
  const std::string checkpoints = folder_ / "checkpoints";
  std::string job = small_job();
  job.replace(job.find("type = \"sgd\"\nmomentum = 0.9"), 27, "type = \"adam\"");
  const auto whole = train(job);
  train(job, {}, 11, {}, checkpoints);
  EXPECT_EQ(train(job, {}, 0, checkpoints).params, whole.params);
}

TEST_F(TrainingTest, BrokenCheckpointsAreRefusedAndTheNewestGoodOneIsNamed) {
  const std::string checkpoints = folder_ / "checkpoints";
  train(small_job(), {"checkpoint.every={ steps = 10 }"}, 25, {}, checkpoints);
  const std::string newest = checkpoints + "/step-000000025";
  auto bytes = host_.disk().read_all(newest + "/params.safetensors");
  ASSERT_TRUE(bytes.ok());
  bytes->back() ^= std::byte{1};
  ASSERT_TRUE(host_.disk().write_all(newest + "/params.safetensors", *bytes).ok());
  const auto named = run::Checkpoints::find(host_, newest);
  ASSERT_FALSE(named.ok());
  EXPECT_NE(named.status().message().find("its hash does not match the manifest"), std::string::npos)
      << named.status().message();
  EXPECT_NE(named.status().message().find("step-000000020"), std::string::npos) << named.status().message();
  bytes->resize(bytes->size() / 2);
  ASSERT_TRUE(host_.disk().write_all(newest + "/params.safetensors", *bytes).ok());
  EXPECT_NE(run::Checkpoints::find(host_, newest).status().message().find("truncated"), std::string::npos);
  std::string refused;
  const auto fallback = run::Checkpoints::newest(host_, {&checkpoints, 1}, refused);
  ASSERT_TRUE(fallback.ok());
  EXPECT_EQ(run::Checkpoints::step_of(*fallback), 20U);
}

TEST_F(TrainingTest, ACheckpointOfAnotherNetIsRefused) {
  const std::string checkpoints = folder_ / "checkpoints";
  train(small_job(), {}, 5, {}, checkpoints);
  Trained trained;
  auto job =
      config::load(host_.disk(), folder_ / "job.toml", std::vector<std::string>{"layer.fc1.units=8"}, *registry_);
  ASSERT_TRUE(job.ok());
  const Status status = run(*job, trained, 0, checkpoints, {});
  EXPECT_NE(status.message().find("'fc1.weight' is 9x7 there and 8x7 here"), std::string::npos) << status.message();
}

TEST_F(TrainingTest, WhatIsPlannedIsWhatIsMade) {
  ASSERT_TRUE(host_.disk().write_text(folder_ / "job.toml", small_job()).ok());
  for (const std::string updater : {"sgd", "adam"}) {
    auto job = config::load(host_.disk(), folder_ / "job.toml",
                            std::vector<std::string>{"updater={ type = \"" + updater + "\" }"}, *registry_);
    ASSERT_TRUE(job.ok()) << job.status().message();
    auto planned = run::Session::open(host_, *registry_, *job, run::Purpose::looking),
         made = run::Session::open(host_, *registry_, *job);
    ASSERT_TRUE(planned.ok() && made.ok());
    const auto plan = (*planned)->trainer(), program = (*made)->trainer();
    ASSERT_TRUE(plan.ok() && program.ok()) << plan.status().message();
    for (const auto& param : (*planned)->store().params()) EXPECT_EQ(param->value.data(), nullptr);
    std::size_t bytes = 0;
    for (const auto& param : (*made)->store().params()) {
      bytes += param->value.size();
      for (const auto& slot : param->history) bytes += slot.size();
      for (const auto& copy : param->copies) bytes += copy->memory.size();
    }
    EXPECT_GT(bytes, 0U);
    EXPECT_EQ((*planned)->store().bytes(), bytes);
    EXPECT_EQ((*planned)->store().missing(), bytes);
    EXPECT_EQ((*made)->store().missing(), 0U);
    EXPECT_EQ((*plan)->footprint().arena, (*program)->footprint().arena);
    std::size_t activations = 0, params = 0;
    for (const auto& part : (*plan)->footprint().parts) {
      activations += part.activations;
      params += part.params;
    }
    EXPECT_EQ(params, bytes);
    EXPECT_GT(activations, 0U);
    EXPECT_LE(activations, (*plan)->footprint().arena);
  }
}

TEST_F(TrainingTest, ALossThatIsNotFiniteStopsTheRunAndNamesTheLayer) {
  const auto wild = train(small_job(), {"updater.rate=3e38", "layer.loss.weight=1000.0"});
  EXPECT_EQ(wild.outcome.ending, run::Ending::diverged);
  EXPECT_NE(wild.outcome.reason.find("the loss 'loss' is"), std::string::npos) << wild.outcome.reason;
  EXPECT_NE(wild.outcome.reason.find("it began in layer 'fc2' (dense), whose param"), std::string::npos)
      << wild.outcome.reason;
  // The overflow is in a feature: the outputs of fc1 and its tanh are finite.
  const auto feature = train(small_job(), {"layer.fc2.param.weight.init={ type = \"constant\", value = 3.4e38 }",
                                           "layer.fc1.param.bias.init={ type = \"constant\", value = 9.0 }"});
  EXPECT_EQ(feature.outcome.ending, run::Ending::diverged);
  EXPECT_TRUE(feature.losses.empty());
  EXPECT_NE(feature.outcome.reason.find("it began in layer 'fc2' (dense)"), std::string::npos)
      << feature.outcome.reason;
  EXPECT_EQ(feature.outcome.reason.find("update"), std::string::npos) << feature.outcome.reason;
}

TEST_F(TrainingTest, StopsAtAnAccuracyOfTestSamplesWhereNoneValidate) {
  const std::string judged = small_job() + R"([[layer]]
name = "accuracy"
type = "accuracy"
src = ["fc2", "data:label"]
)";
  const auto stopped = train(judged, {"test.every={ steps = 3 }", "train.stop.accuracy=0.0"});
  EXPECT_EQ(stopped.losses.size(), 3U);
  EXPECT_NE(stopped.outcome.reason.find("test accuracy reached"), std::string::npos) << stopped.outcome.reason;
  EXPECT_EQ(train(judged, {"test.every={ steps = 3 }", "train.stop.accuracy=1.0", "updater.rate=0.0"}).losses.size(),
            40U);
}

TEST_F(TrainingTest, ClippingByNormBoundsTheStep) {
  const auto free = train(small_job(), {"train.stop.steps=1", "updater.rate=1.0"});
  const auto start = train(small_job(), {"train.stop.steps=1", "updater.rate=0.0"});
  const auto clipped = train(small_job(), {"train.stop.steps=1", "updater.rate=1.0", "updater.clip_norm=0.01"});
  const auto distance = [&](const Trained& to) {
    double squares = 0;
    for (const auto& [name, values] : start.params)
      for (std::size_t i = 0; i < values.size(); ++i) squares += std::pow(values[i] - to.params.at(name)[i], 2);
    return std::sqrt(squares);
  };
  EXPECT_GT(distance(free), 0.05);
  EXPECT_NEAR(distance(clipped), 0.01, 1e-4);
}

TEST_F(TrainingTest, ClippingByValueBoundsEachElement) {
  const auto start = train(small_job(), {"train.stop.steps=1", "updater.rate=0.0"});
  const auto clipped = train(small_job(), {"train.stop.steps=1", "updater.rate=1.0", "updater.clip_value=0.02"});
  std::size_t bounded = 0, free = 0;
  for (const auto& [name, values] : start.params)
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float moved = std::abs(values[i] - clipped.params.at(name)[i]);
      EXPECT_LE(moved, 0.02F + 1e-6F);
      ++(moved > 0.01999F ? bounded : free);
    }
  EXPECT_GT(bounded, 10U);
  EXPECT_GT(free, 0U);
}

TEST_F(TrainingTest, ResumingUnderAnotherUpdaterSaysSo) {
  const std::string checkpoints = folder_ / "checkpoints", path = folder_ / "other.toml";
  train(small_job(), {}, 5, {}, checkpoints);
  std::string other = small_job();
  const std::string_view sgd = "type = \"sgd\"\nmomentum = 0.9";
  other.replace(other.find(sgd), sgd.size(), "type = \"adam\"");
  ASSERT_TRUE(host_.disk().write_text(path, other).ok());
  const auto job = config::load(host_.disk(), path, {}, *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  Trained trained;
  const Status status = run(*job, trained, 0, checkpoints, {});
  EXPECT_NE(status.message().find("was written under another updater"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("'fc1.weight/momentum' is not in this net"), std::string::npos) << status.message();
}

#if defined(__SSE2__)
TEST_F(TrainingTest, ATaskComputesAsThreadsBegin) {
  const std::string path = folder_ / "job.toml";
  ASSERT_TRUE(host_.disk().write_text(path, small_job()).ok());
  const auto job = config::load(host_.disk(), path, {}, *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const unsigned usual = _mm_getcsr();
  constexpr unsigned no_denormals = 0x8040; // left by -ffast-math
  _mm_setcsr(usual | no_denormals);
  auto session = run::Session::open(host_, *registry_, *job);
  EXPECT_EQ(_mm_getcsr() & no_denormals, 0U);
  _mm_setcsr(usual);
}
#endif

// Its time is the number of its readings.
struct Looks final : Clock {
  Nanoseconds now() override { return ++looks; }
  void sleep(Nanoseconds) override {}
  double wall_seconds() override { return 0; }
  Nanoseconds looks = 0;
};

TEST_F(TrainingTest, WhatIsMeasuredIsWhereItWasDone) {
  const std::string path = folder_ / "job.toml";
  ASSERT_TRUE(host_.disk().write_text(path, small_job()).ok());
  std::vector<double> updates;
  for (const char* clip : {"updater.clip_norm=0.0", "updater.clip_norm=0.01"}) {
    const std::vector<std::string> set{"train.stop.steps=3", clip};
    const auto job = config::load(host_.disk(), path, set, *registry_);
    ASSERT_TRUE(job.ok()) << job.status().message();
    auto session = run::Session::open(host_, *registry_, *job);
    ASSERT_TRUE(session.ok()) << session.status().message();
    const std::atomic<bool> interrupted{false};
    run::Training training(**session, interrupted);
    ASSERT_TRUE(training.prepare().ok());
    Looks clock;
    training.program().measure(&clock);
    struct : run::Observer {
      Status on_step(const run::Progress&, program::Program&) override { return {}; }
      Status on_evaluation(const run::Progress&, Phase, const run::Evaluation&) override { return {}; }
    } nobody;
    ASSERT_TRUE(training.run(nobody).error.ok());
    updates.push_back(0);
    for (const auto& timing : training.program().timings()) {
      EXPECT_EQ(timing.calls, 3U) << timing.what;
      EXPECT_EQ(timing.bytes > 0, timing.type != "collect" && timing.type != "metrics") << timing.what;
      if (timing.type == "update") updates.back() += timing.seconds;
    }
  }
  EXPECT_GT(updates[1], 2 * updates[0]); // the norms count as updates, and clipped updates wait for them
}

// Convolutions, and batch norms followed by a relu, or by a sum and a relu.
constexpr const char* residual_job = R"(name = "residual"
seed = 1
[train]
batch = 4
threads = 1
stop = { steps = 4 }
[test]
at_end = false
[updater]
type = "sgd"
rate = 0.01
[[layer]]
name = "data"
type = "synthetic"
shape = [3, 8, 8]
classes = 4
train = 16
test = 0
mode = "learnable"
[[layer]]
name = "c1"
type = "convolution"
src = "data"
filters = 16
kernel = 3
pad = 1
[[layer]]
name = "b1"
type = "batch_norm"
src = "c1"
[[layer]]
name = "r1"
type = "relu"
src = "b1"
[[layer]]
name = "c2"
type = "convolution"
src = "r1"
filters = 16
kernel = 3
pad = 1
[[layer]]
name = "b2"
type = "batch_norm"
src = "c2"
[[layer]]
name = "s2"
type = "add"
src = ["b2", "r1"]
[[layer]]
name = "r2"
type = "relu"
src = "s2"
[[layer]]
name = "fc"
type = "dense"
units = 4
src = "r2"
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc", "data:label"]
)";

TEST_F(TrainingTest, FusedEqualsUnfused) {
  for (const std::string device : {"ref", "cpu"}) {
    if (!registry_->find(Kind::device, device)) continue; // TheCpuDeviceTrainsLikeTheOracle reports the skip
    const std::vector<std::string> fused{"train.device=" + device}, apart{"train.device=" + device, "train.fuse=false"};
    expect_near(train(residual_job, fused), train(residual_job, apart), 1e-5, 4);
  }
}

TEST_F(TrainingTest, EveryTestSampleIsCountedOnce) {
  const auto trained = train(small_job());
  ASSERT_EQ(trained.test.size(), 1U);
  const auto in_one = train(small_job(), {"test.batch=20"});
  EXPECT_NEAR(trained.test[0].second, in_one.test[0].second, 1e-5);
}

TEST_F(TrainingTest, TheCpuDeviceTrainsLikeTheOracle) {
  if (!registry_->find(Kind::device, "cpu")) GTEST_SKIP() << "this build has no cpu device: oneDNN is missing";
  expect_near(train(small_job()), train(small_job("cpu")), 1e-4, 20);
}

TEST_F(TrainingTest, ReproducibleSumsAreMadeInBlocks) {
  const auto plain = train(small_job()), blocks = train(small_job(), {"train.reproducible=true"});
  expect_near(plain, blocks, 1e-5, 20);
  EXPECT_NE(plain.params, blocks.params); // sums in blocks round differently
}

} // namespace
} // namespace dlhost::test
