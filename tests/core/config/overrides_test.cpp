// Settings by --set.
#include "fixture.h"

namespace dlhost::config {
namespace {

class Override : public LoadTest {};

const std::string net = R"(name = "x"
updater.rate = 0.1
[[block]]
name = "fc"
params = ["n"]
layer = [ { name = "w", type = "dense", units = "$n" }, { name = "act", type = "relu" } ]
[[layer]]
name = "data"
type = "csv"
train = "x.csv"
[[layer]]
name = "a"
block = "fc"
src = "data"
repeat = 2
with = { n = 4 }
[[layer]]
name = "a.b"
type = "dense"
src = "a"
units = 9
)";

std::int64_t units(const Job& job, std::string_view layer) {
  return std::get<std::int64_t>(job.layer(layer)->options.find("units")->data);
}

TEST_F(Override, ReachesUsesOfBlocksAndTheLayersInside) {
  const Job all = job(net, {"layer.a.with.n=5"});
  EXPECT_EQ(units(all, "a.1.w"), 5);
  EXPECT_EQ(units(all, "a.2.w"), 5);
  const Job one = job(net, {"layer.a.2.w.units=6", "layer.a.b.units=7", "layer.data.train=bare/word.csv"});
  EXPECT_EQ(units(one, "a.1.w"), 4);
  EXPECT_EQ(units(one, "a.2.w"), 6);
  EXPECT_EQ(units(one, "a.b"), 7);
  EXPECT_EQ(std::get<std::string>(one.layer("data")->options.find("train")->data), "bare/word.csv");
}

TEST_F(Override, ReadsTomlAndWords) {
  const Job result = job(net, {"train.stop={ steps = 3 }", "name=\"quoted\"", "updater.momentum=0.5",
                               "train.last_batch=wrap", "layer.data.phases=[\"train\", \"test\"]"});
  EXPECT_EQ(result.train.stop.steps, 3);
  EXPECT_EQ(result.name, "quoted");
  EXPECT_EQ(result.train.last, Last::wrap);
  EXPECT_EQ(result.layer("data")->phases.size(), 2U);
}

TEST_F(Override, AnotherTypeHasOtherOptions) {
  const std::string cosine = "name = \"x\"\nupdater = { rate = { type = \"cosine\", warmup = 3, base = 0.1 } }\n" +
                             net.substr(net.find("[[block]]"));
  for (const auto& set : {std::vector<std::string>{"updater.rate.type=fixed", "updater.rate.base=0.2"},
                          std::vector<std::string>{"updater.rate.base=0.2", "updater.rate.type=fixed"}}) {
    const Part rate = job(cosine, set).updater.rate;
    EXPECT_EQ(rate.type, "fixed");
    EXPECT_EQ(rate.options.find("warmup"), nullptr);
    EXPECT_NE(rate.options.find("base"), nullptr);
  }
  EXPECT_NE(job(cosine, {"updater.rate.type=cosine"}).updater.rate.options.find("warmup"), nullptr);
}

TEST_F(Override, SaysWhatDoesNotFit) {
  EXPECT_EQ(problems(net, {"train.batch", "=3"}),
            "--set train.batch: must be KEY=VALUE, such as train.batch=32 or layer.fc1.units=100\n"
            "--set =3: must be KEY=VALUE, such as train.batch=32 or layer.fc1.units=100");
  EXPECT_EQ(
      problems(net, {"trian.batch=3"}),
      "--set trian.batch=3: unknown key 'trian'; did you mean 'train'? (known: block, checkpoint, folder, get_data, "
      "layer, name, partition, record, recovery, seed, test, topology, train, updater, validate)");
  EXPECT_EQ(problems(net, {"train.bacth=3"}),
            "--set train.bacth=3: train.bacth: unknown option; did you mean 'batch'? (known: algorithm, batch, "
            "device, dtype, fuse, hang_limit, init_from, last_batch, prefetch, readers, reproducible, shuffle, stop, "
            "threads)");
  EXPECT_EQ(problems(net, {"train.batch=0"}), "--set train.batch=0: train.batch: must be at least 1, but is 0");
  EXPECT_EQ(
      problems(net, {"layer.dta.train=y"}),
      "--set layer.dta.train=y: unknown layer 'dta'; did you mean 'data'? (known: a.1.act, a.1.w, a.2.act, a.2.w, "
      "a.b, data)");
  EXPECT_EQ(problems(net, {"block.cf.out=w"}),
            "--set block.cf.out=w: unknown block 'cf'; did you mean 'fc'? (known: fc)");
  EXPECT_EQ(problems(net, {"layer.data=3"}), "--set layer.data=3: must be layer.NAME.KEY=VALUE");
  EXPECT_EQ(problems(net, {"updater.rate.base=0.2"}),
            "--set updater.rate.base=0.2: updater.rate is 0.1, not a table; set it as a whole");
  EXPECT_EQ(problems(net, {"train..batch=3"}), "--set train..batch=3: the key has an empty part: 'train..batch'");
  EXPECT_THAT(problems(net, {"train.batch=[1"}), testing::StartsWith("--set train.batch=[1: not valid TOML: "));
}

} // namespace
} // namespace dlhost::config
