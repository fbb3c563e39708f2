// Workers that send the factors of gradients to each other: the same training, and only where factors apply.
#include "several.h"

namespace dlhost::test {
namespace {

using FactorsTest = Bench;

const std::vector<std::string> both{"fc1.weight", "fc2.weight"};

// With five workers, some have two rows and some three.
TEST_F(FactorsTest, SeveralWorkersTrainAsOneDoes) {
  for (const std::string device : {"ref", "{ type = \"ref\", formats = \"blocked\" }", "cpu"}) {
    if (device == "cpu" && !registry_->find(Kind::device, device)) continue;
    const std::vector<std::string> here{"train.device=" + device};
    const auto one = train(small_job(), here);
    EXPECT_TRUE(one.factored.empty()) << "nobody else would multiply";
    for (const int count : {2, 3, 5})
      for (const int servers : {1, count}) {
        SCOPED_TRACE(concat(device, ", ", count, " workers, ", servers, " servers"));
        auto settings = workers(count, servers, here);
        settings.push_back("topology.gradient_factors=on");
        const auto several = train(small_job(), settings);
        EXPECT_EQ(several.factored, both);
        expect_near(one, several, 1e-5, 20);
      }
  }
}

// Slices are cut between the blocks of the device's format, and multiplied part by part.
TEST_F(FactorsTest, LargeParamsAreMultipliedInParts) {
  const std::string device = registry_->find(Kind::device, "cpu") ? "cpu" : "ref";
  std::vector<std::string> types{"f32"};
  if (computes(device, DType::bf16)) types.push_back("bf16");
  for (const std::string& type : types) {
    const std::vector<std::string> large{"train.device=" + device,    "train.dtype=" + type, "layer.fc1.units=700",
                                         "layer.data.shape=[3, 211]", "train.stop.steps=6",  "updater.rate=0.005"};
    const auto with = [&](const char* factors) {
      auto settings = workers(2, 2, large);
      settings.push_back(concat("topology.gradient_factors=", factors));
      return train(small_job(), settings);
    };
    const auto sent = with("off"), multiplied = with("auto");
    EXPECT_TRUE(sent.factored.empty());
    EXPECT_EQ(multiplied.factored, std::vector<std::string>{"fc1.weight"}) << "the other's factors are larger than it";
    EXPECT_EQ(sent.outcome.factored.dense, 0U);
    EXPECT_GE(multiplied.outcome.factored.dense, 6 * 700 * 633 * sizeof(float)); // and padding
    EXPECT_LT(multiplied.outcome.factored.sent, 6 * (700 + 640) * 6 * sizeof(float) + 6 * 64);
    expect_near(sent, multiplied, type == "bf16" ? 2e-2 : 1e-5, 6);
    const auto &expected = sent.params.at("fc1.weight"), &found = multiplied.params.at("fc1.weight");
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-3) << i;
  }
}

TEST_F(FactorsTest, OnlyWhereServersAreAsManyAsWorkersIsItWorthIt) {
  const std::vector<std::string> large{"layer.fc1.units=300", "layer.data.shape=[200]", "train.stop.steps=2"};
  EXPECT_EQ(train(small_job(), workers(2, 1, large)).factored, std::vector<std::string>{});
  EXPECT_EQ(train(small_job(), workers(2, 2, large)).factored, std::vector<std::string>{"fc1.weight"});
}

TEST_F(FactorsTest, IsTheSameTwiceAndWhenItIsResumed) {
  const std::string checkpoints = folder_ / "checkpoints";
  const auto settings = workers(3, 2, {"topology.gradient_factors=on"});
  const auto whole = train(small_job(), settings), again = train(small_job(), settings);
  EXPECT_EQ(whole.losses, again.losses);
  EXPECT_EQ(whole.params, again.params);
  train(small_job(), settings, 17, {}, checkpoints);
  EXPECT_EQ(train(small_job(), settings, 0, checkpoints).params, whole.params);
}

TEST_F(FactorsTest, WhatIsDoneWithGradientsOtherwiseGetsThem) {
  struct Otherwise {
    const char* name;
    std::vector<std::string> set, factored;
  };
  const std::vector<Otherwise> ways{
      {"clipped by a norm", {"updater.clip_norm=1"}, {}},
      {"clipped by value", {"updater.clip_value=0.01"}, both},
      {"sums over params", {"updater={ type = \"lamb\", rate = 0.01 }"}, {}},
      {"encoded", {"topology.codec=bf16", "topology.codec_elements=30"}, {"fc2.weight"}},
      {"reproducible", {"train.reproducible=true", "train.batch=16"}, {}},
      {"accumulated", {"train.algorithm={ type = \"bp\", micro_batches = 2 }"}, {}},
      {"frozen", {"layer.fc2.param.weight.frozen=true"}, {"fc1.weight"}},
      {"replicas", {"topology.replicas=2"}, both},
      {"adam", {"updater={ type = \"adam\", rate = 0.01 }"}, both},
  };
  for (const auto& way : ways) {
    SCOPED_TRACE(way.name);
    auto settings = workers(2, 2, way.set);
    settings.push_back("topology.gradient_factors=on");
    const auto trained = train(small_job(), settings);
    EXPECT_EQ(trained.factored, way.factored);
    settings.back() = "topology.gradient_factors=off";
    expect_near(train(small_job(), settings), trained, 1e-5, 20);
  }
}

// Windows of three symbols; the net predicts the next symbol after each.
class RowsTest : public FactorsTest {
 protected:
  RowsTest() {
    std::string text;
    for (int i = 0; i < 600; ++i) text += static_cast<char>('A' + (i * 7 + i * i % 11) % 30);
    EXPECT_TRUE(host_.disk().write_text(folder_ / "text", text).ok());
  }
  std::string job() {
    return R"(name = "rows"
seed = 3
[train]
batch = 12
device = "ref"
stop = { steps = 40 }
[updater]
type = "sgd"
momentum = 0.9
rate = 0.2
[[layer]]
name = "data"
type = "text"
train = ")" +
           folder_.path() + R"(/text"
length = 3
[[layer]]
name = "table"
type = "embedding"
src = "data"
rows = 31
units = 8
param.weight.init = { type = "gaussian", deviation = 0.5 }
[[layer]]
name = "fc"
type = "dense"
src = "table"
units = 93
[[layer]]
name = "each"
type = "reshape"
src = "fc"
shape = [31, 3]
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["each", "data:label"]
)";
  }

  const std::vector<std::string> all_{"table.weight", "fc.weight"};
};

// A table's gradient is sent as row numbers and the rows to add.
TEST_F(RowsTest, SeveralWorkersTrainAsOneDoes) {
  for (const std::string device : {"ref", "{ type = \"ref\", formats = \"blocked\" }", "cpu"}) {
    if (device == "cpu" && !registry_->find(Kind::device, device)) continue;
    const std::vector<std::string> here{"train.device=" + device};
    const auto one = train(job(), here);
    for (const int count : {2, 3, 5})
      for (const int servers : {1, count}) {
        SCOPED_TRACE(concat(device, ", ", count, " workers, ", servers, " servers"));
        auto settings = workers(count, servers, here);
        settings.push_back("topology.gradient_factors=on");
        const auto several = train(job(), settings);
        EXPECT_EQ(several.factored, all_);
        expect_near(one, several, 1e-5, 20);
        EXPECT_LT(several.losses.back(), 0.9 * several.losses.front());
      }
  }
}

TEST_F(RowsTest, OfALargeTableFewRowsLeave) {
  std::vector<std::string> types{"f32"};
  const std::string device = registry_->find(Kind::device, "cpu") ? "cpu" : "ref";
  if (computes(device, DType::bf16)) types.push_back("bf16");
  for (const std::string& type : types) {
    const auto with = [&](const char* factors) {
      return train(job(), workers(2, 2,
                                  {"train.device=" + device, "train.dtype=" + type, "layer.table.rows=4001",
                                   "layer.table.units=300", "layer.fc.param.weight.frozen=true", "train.stop.steps=6",
                                   concat("topology.gradient_factors=", factors)}));
    };
    const auto sent = with("off"), added = with("auto");
    EXPECT_TRUE(sent.factored.empty());
    EXPECT_EQ(added.factored, std::vector<std::string>{"table.weight"});
    EXPECT_EQ(added.outcome.factored.dense, 6U * 4001 * 300 * sizeof(float));
    EXPECT_LT(added.outcome.factored.sent, 6U * 6 * 3 * 302 * sizeof(float));
    expect_near(sent, added, type == "bf16" ? 2e-2 : 1e-5, 6);
    const auto &expected = sent.params.at("table.weight"), &found = added.params.at("table.weight");
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-3) << i;
  }
}

TEST_F(RowsTest, HandlersThatTakeGradientsTakeRows) {
  for (const std::string handler : {"eventual", "bounded", "hogwild", "first_t", "backup"}) {
    SCOPED_TRACE(handler);
    const auto trained =
        train(job(), {"topology.worker_groups=3", "topology.servers_per_group=2", "topology.consistency=" + handler,
                      "topology.gradient_factors=on", "train.batch=6", "train.stop.steps=200", "updater.rate=0.05"});
    EXPECT_EQ(trained.factored, all_);
    EXPECT_LT(trained.losses.back(), 0.9 * trained.losses.front());
  }
}

TEST_F(FactorsTest, AParamOfTwoLayersIsASum) {
  const std::string twice = small_job() + R"(
[[layer]]
name = "fc3"
type = "dense"
src = "act"
units = 3
param.weight.share = "head"
[[layer]]
name = "other"
type = "softmax_loss"
src = ["fc3", "data:label"]
)";
  EXPECT_EQ(train(twice, workers(2, 2, {"topology.gradient_factors=on", "layer.fc2.param.weight.share=head"})).factored,
            std::vector<std::string>{"fc1.weight"});
}

TEST_F(FactorsTest, HandlersThatTakeGradientsTakeFactors) {
  for (const std::string handler :
       {"eventual", "bounded", "hogwild", "first_t", "backup", "elastic", "{ type = \"first_t\", late = \"fold\" }"}) {
    SCOPED_TRACE(handler);
    const bool takes = handler != "elastic" && handler.find("fold") == std::string::npos;
    const auto trained = train(small_job(), {"topology.worker_groups=3", "topology.servers_per_group=2",
                                             "topology.consistency=" + handler, "topology.gradient_factors=on",
                                             "train.batch=6", "train.stop.steps=120", "updater.rate=0.01"});
    EXPECT_EQ(trained.factored, takes ? both : std::vector<std::string>{});
    ASSERT_EQ(trained.test.size(), 1U);
    EXPECT_LT(trained.test[0].second, 0.5 * trained.losses.front());
  }
}

} // namespace
} // namespace dlhost::test
