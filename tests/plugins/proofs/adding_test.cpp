// Layers that add their gradients to what is there.
#include "proofs.h"

namespace dlhost::test {
namespace {

class Adding : public Proofs {};
INSTANTIATE_TEST_SUITE_P(Ref, Adding, near_and_far(), near_or_far);

// A feature that is cut twice and added to: its gradient has three contributions, and `a` hands one tensor to two.
std::string cut_job(bool through_views) {
  const auto source = [&](const std::string& view) { return through_views ? view : std::string("fc1"); };
  const std::string views = R"([[layer]]
name = "v1"
type = "flatten"
src = "fc1"
[[layer]]
name = "v2"
type = "flatten"
src = "fc1"
)";
  return R"(name = "cut"
seed = 3
[train]
batch = 12
threads = 1
stop = { steps = 20 }
[updater]
type = "sgd"
rate = 0.1
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [7]
classes = 3
train = 50
test = 20
[[layer]]
name = "fc1"
type = "dense"
src = "data"
units = 9
[[layer]]
name = "g"
type = "dense"
src = "data"
units = 9
)" + (through_views ? views : "") +
         R"([[layer]]
name = "s1"
type = "slice"
src = ")" +
         source("v1") +
         R"("
first = 2
count = 4
[[layer]]
name = "s2"
type = "slice"
src = ")" +
         source("v2") +
         R"("
first = 0
count = 3
[[layer]]
name = "a"
type = "add"
src = ["fc1", "g"]
[[layer]]
name = "cat"
type = "concat"
src = ["s1", "s2", "a"]
[[layer]]
name = "fc2"
type = "dense"
src = "cat"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc2", "data:label"]
)";
}

TEST_P(Adding, AGradientIsAddedToWhereItLies) {
  for (const char* fuse : {"train.fuse=true", "train.fuse=false"}) {
    const auto added = train(cut_job(false), with({fuse})), summed = train(cut_job(true), with({fuse}));
    EXPECT_LT(added.losses.back(), 0.7 * added.losses.front());
    for (const auto& [name, values] : summed.params)
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], added.params.at(name)[i], 1e-5) << name;
  }
}

// Adding takes the place of sums of core's own: here all but the copy of what `a` hands to two.
TEST_P(Adding, AnAddingLayerSavesASum) {
  const auto sums = [&](bool through_views) {
    EXPECT_TRUE(host_.disk().write_text(folder_ / "job.toml", cut_job(through_views)).ok());
    const auto job = config::load(host_.disk(), folder_ / "job.toml", with({"train.fuse=false"}), *registry_);
    auto session = run::Session::open(host_, *registry_, *job);
    const auto program = (*session)->trainer();
    EXPECT_TRUE(program.ok()) << program.status().message();
    (*program)->measure(&host_.clock());
    return std::ranges::count((*program)->timings(), "sum", &program::Timing::what);
  };
  EXPECT_EQ(sums(true), 2);
  EXPECT_EQ(sums(false), 1);
}

} // namespace
} // namespace dlhost::test
