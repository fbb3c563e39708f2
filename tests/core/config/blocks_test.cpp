// Blocks: their expansion, and the errors of faulty ones.
#include "fixture.h"

namespace dlhost::config {
namespace {

class Blocks : public LoadTest {};

std::string described(const Job& job) {
  std::string text;
  for (const auto& layer : job.layers) {
    text += layer.name + " <-";
    for (const auto& source : layer.src) text += " " + source.layer + (source.port.empty() ? "" : ":" + source.port);
    text += "\n";
  }
  return text;
}

const std::string data = "[[layer]]\nname = \"data\"\ntype = \"csv\"\ntrain = \"x.csv\"\n";
const std::string pair = R"(name = "x"
[[block]]
name = "pair"
params = ["filters"]
defaults = { kernel = 3, stride = 1 }
layer = [
  { name = "conv", type = "convolution", filters = "$filters", kernel = "$kernel", stride = "$stride", pad = "$kernel / 2" },
  { name = "act", type = "relu" },
]
)"; // 9 lines

std::int64_t integer(const Job& job, std::string_view layer, std::string_view option) {
  return std::get<std::int64_t>(job.layer(layer)->options.find(option)->data);
}

TEST_F(Blocks, BecomeLayersInAChain) {
  const Job net = job(pair + data +
                      "[[layer]]\nname = \"a\"\nblock = \"pair\"\nsrc = \"data\"\nwith = { filters = 8, kernel = 5 }\n"
                      "[[layer]]\nname = \"out\"\ntype = \"dense\"\nsrc = \"a\"\nunits = 10\n");
  EXPECT_EQ(described(net), "data <-\na.conv <- data\na.act <- a.conv\nout <- a.act\n");
  EXPECT_EQ(integer(net, "a.conv", "filters"), 8);
  EXPECT_EQ(integer(net, "a.conv", "kernel"), 5);
  EXPECT_EQ(integer(net, "a.conv", "stride"), 1);
  EXPECT_EQ(integer(net, "a.conv", "pad"), 2);
  EXPECT_EQ(net.layer("a.conv")->where.line, 7U);
  EXPECT_EQ(net.layer("a.conv")->used_at.line, 14U);
  EXPECT_EQ(net.layer("data")->used_at.line, 0U);
}

TEST_F(Blocks, RepeatAndReadEachOther) {
  const Job net =
      job(pair + data +
          "[[layer]]\nname = \"a\"\nblock = \"pair\"\nsrc = \"data:image\"\nrepeat = 2\nwith = { filters = 8 }\n"
          "[[layer]]\nname = \"out\"\ntype = \"add\"\nsrc = [\"a\", \"a.1\", \"a.1.conv\", \"a:0\"]\n");
  EXPECT_EQ(described(net), "data <-\na.1.conv <- data:image\na.1.act <- a.1.conv\na.2.conv <- a.1.act\n"
                            "a.2.act <- a.2.conv\nout <- a.2.act a.1.act a.1.conv a.2.act:0\n");
}

TEST_F(Blocks, UseBlocks) {
  const Job net = job(pair + R"([[block]]
name = "residual"
params = ["width"]
layer = [
  { name = "left", block = "pair", src = "@in", with = { filters = "$width * 4 - 2" } },
  { name = "right", block = "pair", src = "@in", with = { filters = "$width" } },
  { name = "sum", type = "add", src = ["left", "right.conv", "@in", "data"] },
]
)" + data + "[[layer]]\nname = \"r\"\nblock = \"residual\"\nsrc = \"data\"\nrepeat = 2\nwith.width = 16\n");
  EXPECT_EQ(described(net), "data <-\nr.1.left.conv <- data\nr.1.left.act <- r.1.left.conv\nr.1.right.conv <- data\n"
                            "r.1.right.act <- r.1.right.conv\nr.1.sum <- r.1.left.act r.1.right.conv data data\n"
                            "r.2.left.conv <- r.1.sum\nr.2.left.act <- r.2.left.conv\nr.2.right.conv <- r.1.sum\n"
                            "r.2.right.act <- r.2.right.conv\nr.2.sum <- r.2.left.act r.2.right.conv r.1.sum data\n");
  EXPECT_EQ(integer(net, "r.2.left.conv", "filters"), 62);
}

TEST_F(Blocks, HaveSeveralInputsAndAnOutput) {
  const Job net = job(R"(name = "x"
[[block]]
name = "mix"
out = "act"
layer = [
  { name = "act", type = "add", src = ["@in", "@in.2"] },
  { name = "watch", type = "accuracy" },
]
)" + data + "[[layer]]\nname = \"other\"\ntype = \"relu\"\nsrc = \"data\"\n" +
                      "[[layer]]\nname = \"m\"\nblock = \"mix\"\nsrc = [\"data\", \"other\"]\nphases = \"test\"\n"
                      "[[layer]]\nname = \"end\"\ntype = \"relu\"\nsrc = \"m\"\n");
  EXPECT_EQ(described(net), "data <-\nother <- data\nm.act <- data other other\nm.watch <- m.act\nend <- m.act\n");
  ASSERT_EQ(net.layer("m.watch")->phases.size(), 1U);
  EXPECT_EQ(net.layer("m.watch")->phases[0], Phase::test);
}

TEST_F(Blocks, FillInTexts) {
  const Job net = job(R"(name = "x"
[[block]]
name = "reader"
params = ["file", "n"]
layer = [ { name = "rows", type = "csv", train = "${file}_$n-$index-$$.csv", test_every = "-(1 - $n) % 4" } ]
[[layer]]
name = "d"
block = "reader"
with = { file = "train", n = 7 }
)");
  EXPECT_EQ(std::get<std::string>(net.layer("d.rows")->options.find("train")->data), "train_7-1-$.csv");
  EXPECT_EQ(integer(net, "d.rows", "test_every"), 2);
}

TEST_F(Blocks, ErrorsNameTheTemplateAndTheUse) {
  EXPECT_EQ(
      problems(pair + data + "[[layer]]\nname = \"a\"\nblock = \"pair\"\nsrc = \"dta\"\nwith = { filters = 0 }\n"),
      "job.toml:7:42: layer 'a.conv': filters: must be at least 1, but is 0 (in the block used at job.toml:14:1)\n"
      "job.toml:17:1: layer 'a.conv': src: unknown layer 'dta'; did you mean 'data'? (known: a, a.act, a.conv, "
      "data) (in the block used at job.toml:14:1)");
}

TEST_F(Blocks, UnknownNames) {
  EXPECT_EQ(problems(pair + data + "[[layer]]\nname = \"a\"\nblock = \"pairs\"\n"),
            "job.toml:16:1: layer 'a': unknown block 'pairs'; did you mean 'pair'? (known: pair)");
  EXPECT_EQ(problems(pair + data + "[[layer]]\nname = \"a\"\nblock = \"pair\"\nwith = { filter = 3 }\n"),
            "job.toml:17:10: layer 'a': with.filter: unknown parameter of the block 'pair'; did you mean 'filters'? "
            "(known: filters, kernel, stride)");
  EXPECT_EQ(problems(pair + data + "[[layer]]\nname = \"a\"\nblock = \"pair\"\nunits = 3\n"),
            "job.toml:17:1: layer 'a': units: unknown option; known: block, dtype, frozen, location, name, partition, "
            "phases, repeat, src, with");
}

TEST_F(Blocks, ShareTheNamesOfLayers) {
  const std::string use = "[[layer]]\nname = \"data\"\nblock = \"pair\"\nwith = { filters = 1 }\nsrc = \"data\"\n";
  EXPECT_EQ(problems(pair + data + use), "job.toml:10:1: layer 'data': there is a use of a block of that name as well");
}

TEST_F(Blocks, WrongTemplates) {
  const std::string use = data + "[[layer]]\nname = \"a\"\nblock = \"b\"\n";
  const auto block = [&](const std::string& layer) {
    return problems("name = \"x\"\n[[block]]\nname = \"b\"\nparams = [\"n\"]\nlayer = [" + layer + "]\n" + use +
                    "with = { n = 0 }\n");
  };
  EXPECT_EQ(block("{ name = \"l\", type = \"dense\", units = \"$m\" }"),
            "job.toml:5:40: block 'b': unknown parameter '$m' in \"$m\"; did you mean 'n'? (known: index, n, name) (in "
            "the block used at job.toml:10:1)");
  EXPECT_EQ(block("{ name = \"l\", type = \"dense\", units = \"4 / $n + 1\" }"),
            "job.toml:5:40: block 'b': \"4 / $n + 1\" divides by zero (in the block used at job.toml:10:1)");
  EXPECT_EQ(block("{ name = \"l\", type = \"relu\", src = \"@in\" }"),
            "job.toml:5:39: src: \"@in\": this use of the block 'b' has no src (in the block used at job.toml:10:1)");
  EXPECT_EQ(block("{ name = \"l\", block = \"b\", with = { n = 1 } }"),
            "job.toml:5:24: layer 'a.l': the block 'b' uses itself (in the block used at job.toml:10:1)");
  EXPECT_EQ(problems("name = \"x\"\n[[block]]\nname = \"b\"\nout = \"c\"\n" + data),
            "job.toml:2:1: block 'b': has no layers: write [[block.layer]], or layer = [ { ... }, ... ]\n"
            "job.toml:4:1: block 'b': out: unknown layer 'c'; there are none");
}

TEST_F(Blocks, AreBounded) {
  std::string text = "name = \"x\"\n[[block]]\nname = \"b0\"\nlayer = [ { name = \"r\", type = \"relu\" } ]\n";
  for (int i = 1; i < 5; ++i)
    text += concat("[[block]]\nname = \"b", i, "\"\nlayer = [ { name = \"x\", block = \"b", i - 1,
                   "\", src = [], repeat = 10000 } ]\n");
  EXPECT_EQ(problems(text + "[[layer]]\nname = \"all\"\nblock = \"b4\"\n"),
            "job.toml:17:1: the blocks come to more than 20000 layers");
}

} // namespace
} // namespace dlhost::config
