// Jobs written as TOML.
#include "config/dump.h"

#include "fixture.h"

namespace dlhost::config {
namespace {

class Dump : public LoadTest {};

const std::string text = R"(
name = "x"
seed = 3
get_data = "the attic"
[train]
batch = 32
[updater]
momentum = 0.9
weight_decay = 1e-4
rate = { type = "cosine", warmup = 4, base = 0.25 }
[topology]
framework = "allreduce"
workers = 3
[[block]]
name = "fc"
layer = [ { name = "w", type = "dense", units = 3, param."w x".init = { type = "gaussian", std = 2 }, dtype = "bf16" } ]
[[layer]]
name = "data"
type = "csv"
train = "a \"b\"\tc\u0001.csv"
phases = ["train"]
[[layer]]
name = "all"
block = "fc"
src = "data:1"
repeat = 2
)";

TEST_F(Dump, LoadsAgainAsTheSameJob) {
  const Job first = job(text, {}, "jobs/x.toml");
  const std::string written = to_toml(first, "/here");
  const Job second = job(written, {}, "runs/1/job.toml");
  EXPECT_EQ(to_toml(second, "/there"), written);
  EXPECT_EQ(job_hash(second), job_hash(first));
  EXPECT_EQ(second.layers[0].folder, "/here/jobs");
  EXPECT_EQ(second.data_from, "the attic");
  EXPECT_EQ(second.topology.servers_per_group, 3);
  EXPECT_EQ(second.layers[2].params[0].init->type, "gaussian");
}

TEST_F(Dump, HashTellsWhatMatters) {
  const std::string hash = job_hash(job(text));
  EXPECT_EQ(hash.size(), 16U);
  EXPECT_EQ(job_hash(job(text, {"name=y", "record.tensorboard=false"}, "other/job.toml")), hash);
  EXPECT_NE(job_hash(job(text, {"train.batch=33"})), hash);
  EXPECT_NE(job_hash(job(text, {"layer.all.2.w.units=4"})), hash);
  EXPECT_NE(job_hash(job(text, {"seed=4"})), hash);
}

TEST_F(Dump, HashDoesNotSeeTheOrderOfKeys) {
  const std::string layer = "[[layer]]\nname = \"d\"\ntype = \"csv\"\n";
  EXPECT_EQ(job_hash(job("name = \"x\"\n" + layer + "train = \"t\"\ntest_every = 2\n")),
            job_hash(job("name = \"x\"\n" + layer + "test_every = 2\ntrain = \"t\"\n")));
}

} // namespace
} // namespace dlhost::config
