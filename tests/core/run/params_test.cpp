// The job's settings of params, in whole runs: shared params, scales, frozen params.
#include <algorithm>
#include <cmath>

#include "trained.h"

namespace dlhost::test {
namespace {

class ParamsTest : public Bench {
 protected:
  // Every param of `a` equals that of `b`, except for rounding.
  static void expect_near(const Trained& a, const Trained& b) {
    ASSERT_EQ(a.params.size(), b.params.size());
    for (const auto& [name, values] : a.params)
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], b.params.at(name)[i], 1e-5) << name;
  }
};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  return text.replace(text.find(what), what.size(), with);
}

// Two layers in sequence whose weights have the same initial values.
const std::string recurrent = replaced(small_job(), R"(src = "fc1"
)",
                                       R"(src = "fc1"
[[layer]]
name = "again"
type = "dense"
src = "act"
units = 7
param.weight.init = 0.1
[[layer]]
name = "act2"
type = "tanh"
src = "again"
)");
const std::vector<std::string> one_step{"layer.fc1.units=7", "layer.fc1.param.weight.init=0.1", "layer.fc2.src=act2",
                                        "train.stop.steps=1", "updater.rate=1.0"};

std::vector<std::string> with(std::vector<std::string> set, const std::vector<std::string>& more) {
  set.insert(set.end(), more.begin(), more.end());
  return set;
}

const std::vector<std::string> both_share{"layer.fc1.param.weight.share=w", "layer.again.param.weight.share=w"};

TEST_F(ParamsTest, GradientsOfThoseThatShareAParamAddUp) {
  const auto apart = train(recurrent, one_step);
  const auto& first = apart.params.at("fc1.weight");
  const auto& second = apart.params.at("again.weight");
  double moved = 0;
  for (const auto& set : std::vector<std::vector<std::string>>{{},
                                                               {"train.algorithm={ type = \"bp\", micro_batches = 3 }"},
                                                               {"train.device={ type = \"ref\", far = true }"}}) {
    const auto shared = train(recurrent, with(with(one_step, both_share), set));
    const auto& w = shared.params.at("w");
    ASSERT_EQ(w.size(), first.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      EXPECT_NEAR(w[i], first[i] + second[i] - 0.1F, 1e-6);
      moved = std::max(moved, std::abs(static_cast<double>(first[i]) - 0.1));
    }
    EXPECT_FALSE(shared.params.contains("fc1.weight") || shared.params.contains("again.weight"));
  }
  EXPECT_GT(moved, 1e-3);
}

TEST_F(ParamsTest, WhatOneSharerSaysHoldsForAll) {
  const auto set = with(both_share, {"layer.fc1.units=7", "layer.fc2.src=act2", "updater.weight_decay=0.1"});
  const std::vector<std::string> first{"layer.fc1.param.weight.rate_scale=2", "layer.fc1.param.weight.decay_scale=3",
                                       "layer.fc1.param.weight.init=0.2"};
  const std::vector<std::string> second{"layer.again.param.weight.rate_scale=2",
                                        "layer.again.param.weight.decay_scale=3", "layer.again.param.weight.init=0.2"};
  const std::string job = replaced(recurrent, "param.weight.init = 0.1\n", "");
  const auto by_first = train(job, with(set, first));
  EXPECT_EQ(train(job, with(set, second)).params, by_first.params);
  EXPECT_EQ(train(job, with(with(set, first), second)).params, by_first.params);
  EXPECT_NE(train(job, set).params, by_first.params);
}

TEST_F(ParamsTest, FrozenInOneLayerAParamIsFrozen) {
  const auto start = train(recurrent, with(with(one_step, both_share), {"updater.rate=0.0"}));
  for (const std::string layer : {"fc1", "again"}) {
    const auto frozen = train(recurrent, with(with(one_step, both_share), {concat("layer.", layer, ".frozen=true")}));
    EXPECT_EQ(frozen.params.at("w"), start.params.at("w"));
    EXPECT_NE(frozen.params.at("fc2.weight"), start.params.at("fc2.weight"));
  }
}

std::vector<std::string> of_all(const std::string& setting) {
  std::vector<std::string> set;
  for (const std::string layer : {"fc1", "fc2"})
    for (const std::string param : {"weight", "bias"})
      set.push_back(concat("layer.", layer, ".param.", param, ".", setting));
  return set;
}

TEST_F(ParamsTest, ScalesOfAllParamsAreThoseOfTheUpdater) {
  const std::vector<std::string> slow{"updater.rate=0.02", "updater.weight_decay=0.1"},
      fast{"updater.rate=0.04", "updater.weight_decay=0.1"}, decayed{"updater.rate=0.02", "updater.weight_decay=0.3"},
      plain{"updater.rate=0.02"};
  expect_near(train(small_job(), with(slow, of_all("rate_scale=2"))), train(small_job(), fast));
  expect_near(train(small_job(), with(slow, of_all("rate_scale=1"))), train(small_job(), slow));
  const std::vector<std::string> biases{"layer.fc1.param.bias.decay_scale=0", "layer.fc2.param.bias.decay_scale=0"};
  const auto weights = [](const std::string& scale) {
    return std::vector{"layer.fc1.param.weight.decay_scale=" + scale, "layer.fc2.param.weight.decay_scale=" + scale};
  };
  expect_near(train(small_job(), with(with(slow, weights("3")), biases)), train(small_job(), with(decayed, biases)));
  expect_near(train(small_job(), with(with(slow, weights("0")), biases)), train(small_job(), with(plain, biases)));
  EXPECT_NE(train(small_job(), with(slow, biases)).params, train(small_job(), with(plain, biases)).params);
}

TEST_F(ParamsTest, AParamWithoutARateStays) {
  const auto start = train(small_job(), {"train.stop.steps=1", "updater.rate=0.0"});
  const auto still = train(small_job(), {"layer.fc1.param.weight.rate_scale=0"});
  EXPECT_EQ(still.params.at("fc1.weight"), start.params.at("fc1.weight"));
  EXPECT_NE(still.params.at("fc1.bias"), start.params.at("fc1.bias"));
}

TEST_F(ParamsTest, BelowTheLowestLiveParamNothingIsComputedBackward) {
  const auto backward = [&](const std::vector<std::string>& set) {
    std::vector<std::string> calls;
    const std::string path = folder_ / "job.toml";
    EXPECT_TRUE(host_.disk().write_text(path, small_job()).ok());
    auto job = config::load(host_.disk(), path, set, *registry_);
    EXPECT_TRUE(job.ok()) << job.status().message();
    auto session = run::Session::open(host_, *registry_, *job);
    EXPECT_TRUE(session.ok()) << session.status().message();
    const auto program = (*session)->trainer();
    EXPECT_TRUE(program.ok()) << program.status().message();
    (*program)->measure(&host_.clock());
    for (const auto& timing : (*program)->timings())
      if (timing.direction == std::string("backward")) calls.push_back(timing.what);
    for (const auto& op : (*program)->plan().ops)
      if (op.role == Role::input_gradient) calls.push_back(op.layer + " to its input");
    return calls;
  };
  using Calls = std::vector<std::string>;
  EXPECT_EQ(backward({}),
            (Calls{"loss", "fc2", "act", "fc1", "act to its input", "fc2 to its input", "loss to its input"}));
  EXPECT_EQ(backward({"layer.fc1.frozen=true"}), (Calls{"loss", "fc2", "loss to its input"}));
  EXPECT_EQ(backward({"layer.fc1.param.weight.frozen=true"}), backward({}));
}

} // namespace
} // namespace dlhost::test
