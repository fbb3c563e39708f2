// Jobs on the cuda device's kernels on the host, with replayed steps and without: both give the same bits, through all
// changes from step to step.
#include <algorithm>
#include <cmath>

#include "share.h"
#include "trained.h"

namespace dlhost::test {
namespace {

// Batches of 12 of 50 samples: the last one is partial.
constexpr const char* job = R"(name = "replayed"
seed = 5
[train]
batch = 12
threads = 1
last_batch = "partial"
stop = { steps = 60 }
[validate]
every = { steps = 7 }
[updater]
type = "sgd"
momentum = 0.9
rate = { type = "cosine", base = 0.05, warmup = 5 }
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [3, 6, 6]
classes = 4
train = 50
validate = 30
test = 20
[[layer]]
name = "conv"
type = "convolution"
src = "data"
filters = 8
kernel = 3
pad = 1
[[layer]]
name = "norm"
type = "batch_norm"
src = "conv"
[[layer]]
name = "relu"
type = "relu"
src = "norm"
[[layer]]
name = "hidden"
type = "dense"
src = "relu"
units = 16
[[layer]]
name = "drop"
type = "dropout"
src = "hidden"
[[layer]]
name = "out"
type = "dense"
src = "drop"
units = 4
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["out", "data:label"]
[[layer]]
name = "accuracy"
type = "accuracy"
src = ["out", "data:label"]
)";

class GraphsTest : public Bench {
 protected:
  // A count in the device's final description.
  static int count_of(const std::string& device, const std::string& what) {
    const std::size_t end = device.find(" " + what);
    if (end == std::string::npos) return -1;
    return std::stoi(device.substr(device.rfind(' ', end - 1) + 1));
  }

  void expect_alike(std::vector<std::string> set, int launched = 60) {
    SCOPED_TRACE(::testing::PrintToString(set));
    set.push_back(R"(train.device={ type = "cuda_on_host", far = true })");
    auto plain = train(job, set);
    set.back() = R"(train.device={ type = "cuda_on_host", graphs = true })";
    auto replayed = train(job, set);
    for (Trained* one : {&plain, &replayed}) // the loss of a micro-batch without samples
      std::ranges::replace_if(
          one->losses, [](double loss) { return std::isnan(loss); }, 0.0);
    EXPECT_EQ(replayed.losses, plain.losses);
    EXPECT_EQ(replayed.params, plain.params);
    EXPECT_EQ(replayed.test, plain.test);
    EXPECT_EQ(replayed.evaluations, plain.evaluations);
    EXPECT_FALSE(plain.evaluations.empty());
    ASSERT_FALSE(plain.losses.empty());
    EXPECT_LT(plain.losses.back(), plain.losses.front());
    EXPECT_EQ(count_of(plain.device, "launched"), 0);
    EXPECT_EQ(count_of(replayed.device, "refused"), 0);
    EXPECT_GE(count_of(replayed.device, "launched"), launched) << replayed.device;
    EXPECT_LE(count_of(replayed.device, "made"), 30) << replayed.device;
    EXPECT_GT(count_of(replayed.device, "pieces"), 0) << replayed.device;
    EXPECT_NE(plain.losses[0], plain.losses[30]);
  }
};

TEST_F(GraphsTest, ReplayedStepsTrainAlike) {
  const std::vector<std::string> ways[] = {
      {}, // a changing rate, draws, partial batches, evaluations in between
      {R"(updater={ type = "adam", rate = 0.01 })"},
      {"updater.clip_norm=0.5"},
      {R"(train.algorithm={ type = "bp", micro_batches = 2 })"},
      {R"(train.algorithm={ type = "bp", micro_batches = 3 })", R"(updater={ type = "adam", rate = 0.01 })"},
      {"train.dtype=bf16"},
      {"train.fuse=false"},
  };
  Chosen chosen;
  for (const auto& way : ways)
    if (chosen.next()) expect_alike(way);
}

// A step is cut where a layer's params arrive and where its gradients leave.
TEST_F(GraphsTest, TwoWorkersTrainAlike) {
  expect_alike({"topology.workers_per_group=2", "topology.servers_per_group=2", "topology.device=\"ref\"",
                "layer.norm.type=layer_norm"},
               5);
}

// A loss that is not finite ends a step in the middle: the search for its cause and the message are the same.
TEST_F(GraphsTest, ARunThatDivergesSaysTheSame) {
  std::vector<std::string> said;
  for (const char* way : {"far", "graphs"}) {
    const auto wild = train(job, {"updater.rate=1e20", "validate.every={}",
                                  concat("train.device={ type = \"cuda_on_host\", ", way, " = true }")});
    EXPECT_EQ(wild.outcome.ending, run::Ending::diverged);
    said.push_back(wild.outcome.reason);
  }
  EXPECT_EQ(said[1], said[0]);
}

TEST_F(GraphsTest, ASavedRunGoesOn) {
  expect_resumed_alike(job, {R"(train.device={ type = "cuda_on_host", graphs = true })", "validate.every={}"}, 17);
}

} // namespace
} // namespace dlhost::test
