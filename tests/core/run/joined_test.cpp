// Updates of small params joined into one op, on a device that works asynchronously.
#include "trained.h"

namespace dlhost::test {
namespace {

const std::string far = "train.device={ type = \"ref\", far = true }";

class JoinedTest : public Bench {
 protected:
  struct Counts {
    std::size_t alone = 0, together = 0, waiting = 0; // ops of one param, of several, params in another's op
    bool operator==(const Counts&) const = default;
    friend void PrintTo(const Counts& counts, std::ostream* out) {
      *out << counts.alone << " alone, " << counts.together << " together, " << counts.waiting << " waiting";
    }
  };
  Counts count(const std::vector<std::string>& set) {
    EXPECT_TRUE(host_.disk().write_text(folder_ / "job.toml", text()).ok());
    const auto job = config::load(host_.disk(), folder_ / "job.toml", set, *registry_);
    EXPECT_TRUE(job.ok()) << job.status().message();
    auto session = run::Session::open(host_, *registry_, *job);
    const auto program = (*session)->trainer();
    EXPECT_TRUE(program.ok()) << program.status().message();
    (*program)->measure(&host_.clock());
    Counts counts;
    for (const auto& timing : (*program)->timings()) {
      if (timing.type != "update") continue;
      const bool several = timing.what.find(" more") != std::string::npos;
      ++(several ? counts.together : timing.bytes > 0 ? counts.alone : counts.waiting);
    }
    return counts;
  }

  // fc2 reads a new layer: four dense layers and a norm, ten params.
  static std::string text() {
    std::string text = small_job("ref", R"(
[[layer]]
name = "norm"
type = "batch_norm"
src = "act"
[[layer]]
name = "second"
type = "dense"
src = "norm"
units = 9
[[layer]]
name = "third"
type = "dense"
src = "second"
units = 9
)");
    text.replace(text.rfind("src = \"act\""), 11, "src = \"third\"");
    return text;
  }
};

TEST_F(JoinedTest, ParamsThatAreAlikeAreOneOp) {
  EXPECT_EQ(count({}), (Counts{.alone = 10})); // near: each update runs while its gradient is in the cache
  EXPECT_EQ(count({far}), (Counts{.together = 1, .waiting = 9}));
  for (const char* way : {"updater={ type = \"adam\", rate = 0.01 }", "updater.clip_norm=0.1",
                          "train.algorithm={ type = \"bp\", micro_batches = 3 }"})
    EXPECT_EQ(count({far, way}), (Counts{.together = 1, .waiting = 9})) << way;
  // Two ops: weights, with copies in bf16, and the rest.
  EXPECT_EQ(count({far, "train.dtype=bf16"}), (Counts{.together = 2, .waiting = 8}));
  EXPECT_EQ(count({far, "layer.second.param.bias.rate_scale=2"}), (Counts{.alone = 1, .together = 1, .waiting = 8}));
  EXPECT_EQ(count({far, "layer.second.param.bias.decay_scale=0", "layer.third.param.bias.decay_scale=0"}),
            (Counts{.together = 2, .waiting = 8}));
  EXPECT_EQ(count({far, "layer.third.param.weight.frozen=true"}), (Counts{.together = 1, .waiting = 8}));
  EXPECT_EQ(count({far, "updater={ type = \"lamb\", rate = 0.01 }"}),
            (Counts{.alone = 10})); // its sums are of single params
}

TEST_F(JoinedTest, NothingIsTrainedOtherwise) {
  const std::vector<std::string> ways[] = {
      {"train.threads=1"},
      {"train.dtype=bf16"}, // with copies in bf16
      {"updater={ type = \"adam\", rate = 0.01 }"},
      {"updater={ type = \"adam\", rate = 0.01 }", "train.dtype=bf16"},
      {"updater.clip_norm=0.1"},
      {"updater.clip_value=0.01"},
      {"updater.weight_decay=0.01", "layer.second.param.bias.decay_scale=0", "layer.third.param.weight.rate_scale=3"},
      {"train.algorithm={ type = \"bp\", micro_batches = 3 }"},
  };
  for (std::vector<std::string> set : ways) {
    const auto one_by_one = train(text(), set);
    set.push_back(far);
    const auto together = train(text(), set);
    EXPECT_EQ(together.losses, one_by_one.losses) << set[0];
    EXPECT_EQ(together.params, one_by_one.params) << set[0];
    EXPECT_LT(together.losses.back(), together.losses.front()) << set[0];
  }
  expect_resumed_alike(text(), {far}, 17);
}

} // namespace
} // namespace dlhost::test
