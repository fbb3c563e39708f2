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

} // namespace
} // namespace dlhost::test
