// The first workers of a machine compute on one device, the others on the host's: training equals that of workers that
// all compute on the host's device, bit for bit.
#include "several.h"

namespace dlhost::test {
namespace {

class MixedTest : public Bench {
 protected:
  void expect_alike(const std::string& job, const std::vector<std::string>& set, int far) {
    SCOPED_TRACE(concat(far, " of them far"));
    const auto near_by = train(job, set);
    auto settings = set;
    settings.insert(settings.end(), {"train.device={ type = \"ref\", far = true }", "topology.device=\"ref\"",
                                     concat("topology.workers_on_device=", far)});
    const auto mixed = train(job, settings);
    EXPECT_EQ(mixed.losses, near_by.losses);
    EXPECT_EQ(mixed.params, near_by.params);
    EXPECT_EQ(mixed.factored, near_by.factored);
    EXPECT_EQ(mixed.test, near_by.test);
  }
};

TEST_F(MixedTest, EachComputesWhereItIs) {
  for (const int far : {1, 2, 3}) {
    expect_alike(small_job(), workers(3, 2), far);
    expect_alike(small_job(), workers(3, 3, {"topology.gradient_factors=on"}), far);
  }
}

TEST_F(MixedTest, WithOtherRowsAndRunningState) {
  expect_alike(small_job(), workers(3, 2, {"topology.batch_shares=[4, 1, 1]"}), 1);
  expect_alike(normed_job(), workers(3, 2, {"test.every={ steps = 5 }"}), 1);
}

// Each worker computes in its device's formats.
TEST_F(MixedTest, WithFormatsOfTheirOwn) {
  if (!registry_->find(Kind::device, "cpu")) GTEST_SKIP() << "there is no cpu device";
  const auto settings = workers(
      3, 3, {R"(train.device={ type = "ref", far = true, formats = "blocked" })", "topology.workers_on_device=1"});
  expect_near(train(small_job()), train(small_job(), settings), 1e-5, 20);
}

} // namespace
} // namespace dlhost::test
