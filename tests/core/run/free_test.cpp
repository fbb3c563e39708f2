// The divergence of several workers from one, without resynchronisation: limited to rounding.
#include <algorithm>
#include <cmath>

#include "several.h"

namespace dlhost::test {
namespace {

using FreeTest = Bench;

double distance(const Trained& one, const Trained& other) {
  double squares = 0;
  for (const auto& [name, values] : one.params)
    for (std::size_t i = 0; i < values.size(); ++i)
      squares += std::pow(static_cast<double>(values[i]) - static_cast<double>(other.params.at(name)[i]), 2);
  return std::sqrt(squares);
}

// After 200 steps: no further than one worker whose batch is summed in other blocks. That distance depends on the
// blocks, so the test takes the largest of several, and allows twice as much.
TEST_F(FreeTest, NoFurtherThanOneWorkerOfOtherBlocks) {
  for (const std::string device : {"ref", "cpu"}) {
    if (!registry_->find(Kind::device, device)) continue;
    SCOPED_TRACE(device);
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.end(), {"train.stop.steps=200", "layer.data.train=500"});
      return train(small_job(device), more);
    };
    const auto one = with({"train.batch=48"});
    ASSERT_EQ(one.losses.size(), 200U);
    double furthest = 0;
    for (const int blocks : {2, 3, 4, 6}) {
      const auto cut =
          with({"train.batch=48", concat("train.algorithm={ type = \"bp\", micro_batches = ", blocks, " }")});
      furthest = std::max(furthest, distance(one, cut));
    }
    EXPECT_GT(furthest, 0) << "blocks make no difference: this shows nothing";
    const auto expect_no_further = [&](int groups, int count) {
      SCOPED_TRACE(concat(groups, " groups of ", count));
      const auto several = with(workers(
          count, (count + 1) / 2, {concat("topology.worker_groups=", groups), concat("train.batch=", 48 / groups)}));
      expect_near(one, several, 1e-5, 20);
      EXPECT_LE(distance(one, several), 2 * furthest);
    };
    for (const int count : {2, 3, 4, 8}) expect_no_further(1, count);
    for (const int count : {1, 2, 4}) expect_no_further(2, count);
  }
}

} // namespace
} // namespace dlhost::test
