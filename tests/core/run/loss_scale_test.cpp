// Nets that compute in f16: gradients are scaled up, and steps that overflow are skipped.
#include <cmath>

#include "program/loss_scale.h"
#include "trained.h"

namespace dlhost::test {
namespace {

TEST(LossScale, GrowsAfterManyGoodStepsAndIsHalvedByABadOne) {
  program::LossScale scale;
  EXPECT_EQ(scale.value(), 65536);
  for (int i = 0; i < 1999; ++i) scale.went_well();
  EXPECT_EQ(scale.value(), 65536);
  scale.went_well();
  EXPECT_EQ(scale.value(), 131072);
  EXPECT_TRUE(scale.overflowed(7).ok());
  EXPECT_EQ(scale.state(), (program::LossScale::State{.value = 65536, .went_well = 0, .skipped = 1}));
  while (scale.value() > 1) EXPECT_TRUE(scale.overflowed(8).ok());
  const Status nothing_left = scale.overflowed(9);
  EXPECT_EQ(nothing_left.code(), Code::cancelled);
  EXPECT_NE(nothing_left.message().find("in step 9"), std::string::npos);
}

TEST(LossScale, DoesNotGrowForEver) {
  program::LossScale scale;
  for (int i = 0; i < 100000; ++i) scale.went_well();
  EXPECT_EQ(scale.value(), 1 << 24);
}

class HalfTest : public Bench {
 protected:
  void SetUp() override {
    if (!computes("ref", DType::f16)) GTEST_SKIP() << "ref does not compute in f16";
  }
  Status status_of(const std::vector<std::string>& set) {
    EXPECT_TRUE(host_.disk().write_text(folder_ / "job.toml", small_job()).ok());
    const auto job = config::load(host_.disk(), folder_ / "job.toml", set, *registry_);
    if (!job.ok()) return job.status();
    Trained trained;
    return run(*job, trained, 0, "", "");
  }
  static std::vector<std::string> half(std::vector<std::string> more = {}) {
    more.push_back("train.dtype=f16");
    return more;
  }
};

TEST_F(HalfTest, TrainsAsF32DoesButForItsFraction) {
  for (const auto& way : {std::vector<std::string>{},
                          {"updater.clip_norm=0.05"},
                          {"train.device={ type = \"ref\", far = true }"},
                          {"train.algorithm={ type = \"bp\", micro_batches = 2 }"}}) {
    SCOPED_TRACE(way.empty() ? "plain" : way[0]);
    const auto whole = train(small_job(), way), in_half = train(small_job(), half(way));
    ASSERT_EQ(in_half.losses.size(), whole.losses.size());
    ASSERT_TRUE(in_half.outcome.loss_scale);
    EXPECT_EQ(in_half.outcome.loss_scale->skipped, 0U);
    EXPECT_EQ(in_half.outcome.loss_scale->value, 65536);
    for (std::size_t i = 0; i < whole.losses.size(); ++i)
      EXPECT_NEAR(in_half.losses[i], whole.losses[i], 0.02 * whole.losses[i] + 0.005) << "step " << i;
  }
  EXPECT_FALSE(train(small_job(), {"train.dtype=bf16"}).outcome.loss_scale);
}

// Gradients of a millionth of a loss underflow in f16, unless they are scaled.
TEST_F(HalfTest, SmallGradientsCount) {
  const std::vector<std::string> small{"layer.loss.weight=1e-6", "updater.rate={ type = \"fixed\", base = 50000 }"};
  const auto whole = train(small_job(), small), in_half = train(small_job(), half(small));
  EXPECT_LT(whole.losses.back(), 0.7 * whole.losses.front());
  EXPECT_NEAR(in_half.losses.back(), whole.losses.back(), 0.05 * whole.losses.back());
}

// The first steps overflow and are skipped; training continues as if without them.
TEST_F(HalfTest, WhatOverflowsIsNoStep) {
  const std::vector<std::string> large{"layer.loss.weight=1000", "updater.rate={ type = \"fixed\", base = 0.00005 }"};
  const auto whole = train(small_job(), large), in_half = train(small_job(), half(large));
  ASSERT_TRUE(in_half.outcome.loss_scale);
  EXPECT_GT(in_half.outcome.loss_scale->skipped, 0U);
  EXPECT_LT(in_half.outcome.loss_scale->skipped, 20U);
  EXPECT_LT(in_half.outcome.loss_scale->value, 65536);
  EXPECT_LT(in_half.losses.back(), 0.7 * in_half.losses.front());
  EXPECT_EQ(in_half.losses.size(), whole.losses.size());
}

TEST_F(HalfTest, ItGoesOnAsIfItHadNotStopped) {
  expect_resumed_alike(small_job(), half({"updater={ type = \"adam\", rate = 0.01 }"}), 17);
  expect_resumed_alike(small_job(), half({"updater={ type = \"adam\", rate = 0.01 }", "layer.loss.weight=1000"}), 17);
}

TEST_F(HalfTest, OneLayerInHalfIsEnough) {
  EXPECT_TRUE(train(small_job(), {"layer.fc1.dtype=f16"}).outcome.loss_scale);
}

TEST_F(HalfTest, WhatItDoesNotGoWithIsRefused) {
  EXPECT_NE(status_of(half({"topology.workers_per_group=2"})).message().find("is trained by one worker"),
            std::string::npos);
  EXPECT_NE(status_of(half({"updater.clip_value=1"})).message().find("take updater.clip_norm"), std::string::npos);
}

} // namespace
} // namespace dlhost::test
