// The norm of all gradients, with one worker and with servers; it does not change training.
#include <algorithm>
#include <cmath>

#include "several.h"

namespace dlhost::test {
namespace {

class GradientNormTest : public Bench {
 protected:
  // The norms of the first gradients, from the params' changes in plain steps of rate 1.
  std::vector<double> moves(std::vector<std::string> set) {
    std::vector<double> norms;
    auto before = train(small_job(), with(set, 0)).params;
    for (int step = 1; step <= 3; ++step) {
      const auto after = train(small_job(), with(set, step)).params;
      double squares = 0;
      for (const auto& [name, values] : after)
        for (std::size_t i = 0; i < values.size(); ++i) squares += std::pow(values[i] - before.at(name)[i], 2);
      norms.push_back(std::sqrt(squares));
      before = after;
    }
    return norms;
  }
  static std::vector<std::string> with(std::vector<std::string> set, int steps) {
    set.insert(set.end(), {"updater={ type = \"sgd\", rate = 1 }", concat("train.stop.steps=", std::max(steps, 1)),
                           "record.gradient_norm=true"});
    if (steps == 0) set.emplace_back("updater.rate=0"); // the initial params
    return set;
  }
};

TEST_F(GradientNormTest, ItIsThatOfWhatMovesTheParams) {
  for (const auto& way : {std::vector<std::string>{}, {"train.device={ type = \"ref\", far = true }"}}) {
    SCOPED_TRACE(way.empty() ? "near" : way.back());
    const auto told = train(small_job(), with(way, 3)).norms;
    const auto moved = moves(way);
    ASSERT_EQ(told.size(), 3U);
    for (std::size_t step = 0; step < 3; ++step) EXPECT_NEAR(told[step], moved[step], 1e-4 * moved[step]);
  }
}

// The leader's newest known version may be that of the previous step.
TEST_F(GradientNormTest, OfSeveralWorkersItIsThatOfAVersion) {
  const auto told = train(small_job(), with(workers(3, 2), 3)).norms;
  const auto moved = moves(workers(3, 2));
  ASSERT_GE(told.size(), 1U);
  for (const double norm : told)
    EXPECT_TRUE(std::ranges::any_of(moved, [&](double one) { return std::abs(one - norm) < 1e-4 * one; })) << norm;
}

TEST_F(GradientNormTest, TrainingIsTheSame) {
  for (const auto& way :
       {std::vector<std::string>{}, workers(2, 2), workers(2, 1, {"topology.consistency=eventual"})}) {
    auto looked_at = way;
    looked_at.emplace_back("record.gradient_norm=true");
    const auto plain = train(small_job(), way), with_norms = train(small_job(), looked_at);
    EXPECT_TRUE(plain.norms.empty());
    EXPECT_FALSE(with_norms.norms.empty());
    if (std::ranges::find(way, "topology.consistency=eventual") != way.end()) continue; // asynchronous runs differ
    EXPECT_EQ(with_norms.losses, plain.losses);
    EXPECT_EQ(with_norms.params, plain.params);
  }
}

// With clipping, the norm is the one before it.
TEST_F(GradientNormTest, ClippingTellsItToo) {
  const auto clipped = train(small_job(), {"updater.clip_norm=0.05"}),
             free = train(small_job(), {"record.gradient_norm=true"});
  ASSERT_FALSE(clipped.norms.empty());
  EXPECT_EQ(clipped.norms[0], free.norms[0]);
}

} // namespace
} // namespace dlhost::test
