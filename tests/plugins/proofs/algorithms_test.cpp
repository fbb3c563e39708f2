// Later algorithms work through the SDK as it is.
#include "proofs.h"

namespace dlhost::test {
namespace {

class Algorithms : public Proofs {
 protected:
  // The result of training the small job.
  Status attempt(const std::vector<std::string>& set) {
    const std::string path = folder_ / "job.toml";
    EXPECT_TRUE(host_.disk().write_text(path, small_job()).ok());
    const auto job = config::load(host_.disk(), path, set, *registry_);
    EXPECT_TRUE(job.ok()) << job.status().message();
    Trained trained;
    return job.ok() ? run(*job, trained, 0, {}, {}) : job.status();
  }
};
INSTANTIATE_TEST_SUITE_P(Ref, Algorithms, near_and_far(), near_or_far);

TEST_P(Algorithms, LateMultiplyEqualsBackPropagation) {
  const auto late = train(small_job(), with({"train.algorithm=late_multiply"}));
  const auto early = train(small_job(), with({}));
  EXPECT_EQ(late.losses, early.losses);
  EXPECT_EQ(late.params, early.params);
}

// The params' gradients of each micro-batch count once, with the errors or after them.
TEST_P(Algorithms, LateUpdatesCountEachGradientOnce) {
  for (const int parts : {1, 4}) {
    const auto plain =
        train(small_job(), with({concat("train.algorithm={ type = \"bp\", micro_batches = ", parts, " }")}));
    for (const char* order : {"late", "early"}) {
      const auto late = train(small_job(), with({concat("train.algorithm={ type = \"late_multiply\", order = \"", order,
                                                        "\", micro_batches = ", parts, " }")}));
      ASSERT_EQ(late.losses.size(), plain.losses.size());
      for (std::size_t step = 0; step < plain.losses.size(); ++step)
        EXPECT_NEAR(late.losses[step], plain.losses[step], 1e-6 * plain.losses[step]) << order << ", step " << step;
    }
  }
}

TEST_P(Algorithms, OrdersThatCannotBeComputedAreRefused) {
  const std::pair<const char*, const char*> orders[] = {
      {"behind", "computes the param gradient of layer 'fc1' after its update"},
      {"twice", "updates layer 'fc1' twice"},
      {"two_passes", "calls update_late for layer 'fc1', whose input gradients it computes twice in frame 0"}};
  for (const auto& [order, message] : orders) {
    const Status refused =
        attempt(with({concat("train.algorithm={ type = \"late_multiply\", order = \"", order, "\" }")}));
    EXPECT_NE(refused.message().find(message), std::string::npos) << refused.message();
  }
}

// Late factors equal early ones.
TEST_P(Algorithms, LateFactorsOfSeveralWorkersAreThoseOfBackPropagation) {
  if (is_far()) GTEST_SKIP() << "several workers need memory that the host can reach";
  const std::vector<std::string> several{"topology.workers_per_group=2", "topology.servers_per_group=2",
                                         "topology.gradient_factors=on"};
  auto settings = several;
  settings.push_back("train.algorithm=late_multiply");
  const auto late = train(small_job(), settings), early = train(small_job(), several);
  EXPECT_EQ(late.factored.size(), 2U);
  EXPECT_EQ(late.losses, early.losses);
  EXPECT_EQ(late.params, early.params);
}

TEST_P(Algorithms, ATwoStagePipelineEqualsMicroBatches) {
  const auto piped =
      train(small_job(), with({"train.algorithm={ type = \"pipeline_1f1b\", cut = \"fc2\", micro_batches = 4 }"}));
  const auto plain = train(small_job(), with({"train.algorithm={ type = \"bp\", micro_batches = 4 }"}));
  EXPECT_EQ(piped.params, plain.params);
}

// An asynchronous device joins the updates of small params, but runs them before a reader in the same step.
TEST_P(Algorithms, WhatIsUpdatedMayBeReadInTheSameStep) {
  const std::string first = "train.algorithm=update_first";
  for (const char* type : {"train.dtype=f32", "train.dtype=bf16"}) {
    const auto one = train(small_job(), with({first, type})), near_by = train(small_job(), {first, type});
    EXPECT_EQ(one.losses, near_by.losses) << type;
    EXPECT_EQ(one.params, near_by.params) << type;
    EXPECT_NE(one.params, train(small_job(), with({type})).params) << type;
  }
}

// If each worker has all params, updates wait for the sums of all gradients, and a reader of a param in the same step
// waits for its update.
TEST_P(Algorithms, WhatDevicesSumIsReadInTheSameStep) {
  for (const char* algorithm : {"update_first", "late_multiply"}) {
    const std::string named = concat("train.algorithm=", algorithm);
    const auto one = train(small_job(), with({named}));
    const auto two = train(small_job(), with({named, "topology.workers_per_group=2", "topology.device_copies=none"}));
    ASSERT_EQ(two.losses.size(), one.losses.size()) << algorithm;
    for (std::size_t step = 0; step < one.losses.size(); ++step)
      EXPECT_NEAR(two.losses[step], one.losses[step], 1e-5 * one.losses[step]) << algorithm << ", step " << step;
  }
}

} // namespace
} // namespace dlhost::test
