// Valid job files: the content of the Job.
#include "fixture.h"

namespace dlhost::config {
namespace {

class Load : public LoadTest {};

constexpr const char* digits = R"(
name = "digits"
seed = 7
[train]
batch = 32
stop = { epochs = 30 }
[updater]
type = "sgd"
momentum = 0.9
rate = { type = "cosine", base = 0.1, warmup = 100 }
[[layer]]
name = "data"
type = "csv"
train = "digits.csv.gz"
[[layer]]
name = "hidden"
type = "dense"
src = "data"
units = 128
param.weight = { init = { type = "gaussian", std = 0.1 }, rate_scale = 2 }
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["hidden", "data:label"]
)";

TEST_F(Load, FillsTheJob) {
  const Job job = this->job(digits, {}, "jobs/digits.toml");
  EXPECT_EQ(job.name, "digits");
  EXPECT_EQ(job.seed, 7);
  EXPECT_EQ(job.folder, "jobs");
  EXPECT_EQ(job.train.batch, 32);
  EXPECT_EQ(job.train.stop.epochs, 30);
  EXPECT_EQ(job.train.algorithm.type, "bp");
  EXPECT_EQ(job.updater.plugin.type, "sgd");
  ASSERT_EQ(job.updater.plugin.options.entries.size(), 1U);
  EXPECT_EQ(job.updater.plugin.options.entries[0].first, "momentum");
  EXPECT_EQ(job.updater.rate.type, "cosine");
  EXPECT_EQ(job.updater.rate.options.entries.size(), 2U);
  ASSERT_EQ(job.layers.size(), 3U);
  EXPECT_EQ(job.layers[0].name, "data");
  EXPECT_EQ(job.layers[0].folder, "jobs");
  const Layer& hidden = job.layers[1];
  EXPECT_EQ(hidden.type, "dense");
  ASSERT_EQ(hidden.options.entries.size(), 1U);
  EXPECT_EQ(hidden.options.entries[0].first, "units");
  ASSERT_EQ(hidden.params.size(), 1U);
  EXPECT_EQ(hidden.params[0].init->type, "gaussian");
  EXPECT_EQ(hidden.params[0].rate_scale, 2.0);
  EXPECT_FALSE(hidden.params[0].decay_scale.has_value());
  ASSERT_EQ(job.layers[2].src.size(), 2U);
  EXPECT_EQ(job.layers[2].src[1].layer, "data");
  EXPECT_EQ(job.layers[2].src[1].port, "label");
  EXPECT_EQ(job.layers[2].src[1].where.line, 24U);
}

TEST_F(Load, ASmallJobHasDefaults) {
  const Job job = this->job("name = \"x\"\n[[layer]]\nname = \"data\"\ntype = \"csv\"\ntrain = \"x.csv\"\n");
  EXPECT_EQ(job.train.stop.epochs, 10);
  EXPECT_EQ(job.updater.plugin.type, "sgd");
  EXPECT_EQ(job.updater.rate.type, "fixed");
  EXPECT_EQ(job.topology.workers_per_group, 1);
  EXPECT_EQ(job.validate.every.epochs, 1);
  EXPECT_TRUE(job.test.every.never());
  EXPECT_EQ(job.folder, ".");
}

} // namespace
} // namespace dlhost::config
