// Algorithms that come later work through the SDK as it stands.
#include "proofs.h"

namespace dlhost::test {
namespace {

class Algorithms : public Proofs {};
INSTANTIATE_TEST_SUITE_P(Ref, Algorithms, near_and_far(), near_or_far);

TEST_P(Algorithms, LateMultiplyEqualsBackPropagation) {
  const auto late = train(small_job(), with({"train.algorithm=late_multiply"}));
  const auto early = train(small_job(), with({}));
  EXPECT_EQ(late.losses, early.losses);
  EXPECT_EQ(late.params, early.params);
}

// What leaves late is what leaves early.
TEST_P(Algorithms, LateFactorsOfSeveralWorkersAreThoseOfBackPropagation) {
  if (is_far()) GTEST_SKIP() << "several workers need memory that the host can reach";
  const std::vector<std::string> several{"topology.workers_per_group=2", "topology.servers_per_group=2",
                                         "topology.factors=on"};
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

// Small params wait for one another where the device works behind the host, and not for what reads them.
TEST_P(Algorithms, WhatIsUpdatedMayBeReadInTheSameStep) {
  const std::string first = "train.algorithm=update_first";
  for (const char* type : {"train.dtype=f32", "train.dtype=bf16"}) {
    const auto one = train(small_job(), with({first, type})), near_by = train(small_job(), {first, type});
    EXPECT_EQ(one.losses, near_by.losses) << type;
    EXPECT_EQ(one.params, near_by.params) << type;
    EXPECT_NE(one.params, train(small_job(), with({type})).params) << type;
  }
}

// Where each worker has all params for itself, updates wait for the sums of all gradients; and whoever reads a param in
// the same step waits for its update.
TEST_P(Algorithms, WhatDevicesSumIsReadInTheSameStep) {
  for (const char* algorithm : {"update_first", "late_multiply"}) {
    const std::string named = concat("train.algorithm=", algorithm);
    const auto one = train(small_job(), with({named}));
    const auto two = train(small_job(), with({named, "topology.workers_per_group=2", "topology.copy=none"}));
    ASSERT_EQ(two.losses.size(), one.losses.size()) << algorithm;
    for (std::size_t step = 0; step < one.losses.size(); ++step)
      EXPECT_NEAR(two.losses[step], one.losses[step], 1e-5 * one.losses[step]) << algorithm << ", step " << step;
  }
}

} // namespace
} // namespace dlhost::test
