// Files that include files.
#include "config/compose.h"

#include "fixture.h"

namespace dlhost::config {
namespace {

class Compose : public LoadTest {};

TEST_F(Compose, LaterWinsKeyByKey) {
  disk.files["nets/base.toml"] = R"(
[train]
batch = 8
stop = { epochs = 3 }
[updater]
momentum = 0.5
rate = { type = "cosine", warmup = 5 }
[[layer]]
name = "data"
type = "csv"
train = "base.csv"
test_every = 4
[[layer]]
name = "fc"
type = "dense"
units = 5
bias = false
)";
  const Job result = job(R"(
name = "x"
include = ["../nets/base.toml"]
train.batch = 16
updater.rate = { type = "fixed", base = 0.5 }
[[layer]]
name = "fc"
units = 6
[[layer]]
name = "act"
type = "relu"
src = "fc"
[[layer]]
name = "data"
type = "relu"
)",
                         {}, "jobs/job.toml");
  EXPECT_EQ(result.train.batch, 16);
  EXPECT_EQ(result.train.stop.epochs, 3);
  EXPECT_EQ(result.updater.rate.type, "fixed");
  EXPECT_EQ(result.updater.rate.options.entries.size(), 1U); // another type: warmup is dropped
  ASSERT_EQ(result.layers.size(), 3U);
  EXPECT_EQ(result.layers[0].type, "relu");
  EXPECT_TRUE(result.layers[0].options.entries.empty());
  const Layer& fc = result.layers[1];
  EXPECT_EQ(std::get<std::int64_t>(fc.options.find("units")->data), 6);
  EXPECT_EQ(std::get<bool>(fc.options.find("bias")->data), false);
  EXPECT_EQ(fc.folder, "nets");
  EXPECT_EQ(result.layers[2].folder, "jobs");
}

TEST_F(Compose, ErrorsNameTheFile) {
  disk.files["base.toml"] = "[train]\nbatch = 0\n";
  EXPECT_EQ(problems("name = \"x\"\ninclude = \"base.toml\"\n[[layer]]\nname = \"d\"\ntype = \"csv\"\n"),
            "base.toml:2:1: train.batch: must be at least 1, but is 0\n"
            "job.toml:3:1: layer 'd': train: is required: file");
  EXPECT_EQ(problems("name = \"x\"\ninclude = [\"none.toml\", 3]\n"),
            "job.toml:2:12: cannot open none.toml: no such file\n"
            "job.toml:2:25: include: must be a list of files, but has 3");
}

TEST_F(Compose, FilesThatIncludeEachOther) {
  disk.files["a.toml"] = "include = [\"sub/b.toml\"]\n";
  disk.files["sub/b.toml"] = "include = [\"../job.toml\"]\n";
  EXPECT_EQ(problems("include = [\"a.toml\"]\n"),
            "sub/b.toml:1:12: include: files include each other: job.toml -> a.toml -> sub/b.toml -> job.toml");
}

TEST_F(Compose, OneFileMayComeTwice) {
  disk.files["common.toml"] = "name = \"x\"\n[[layer]]\nname = \"d\"\ntype = \"csv\"\ntrain = \"t\"\n";
  disk.files["a.toml"] = disk.files["b.toml"] = "include = \"common.toml\"\n";
  EXPECT_EQ(job("include = [\"a.toml\", \"b.toml\"]\n").layers.size(), 1U);
}

TEST(JoinPath, IsLexical) {
  EXPECT_EQ(join_path("a/b", "../c.toml"), "a/c.toml");
  EXPECT_EQ(join_path("a", "../../c"), "../c");
  EXPECT_EQ(join_path("a", "/x//y/./z"), "/x/y/z");
  EXPECT_EQ(join_path(".", "x"), "x");
  EXPECT_EQ(join_path("", "./x"), "x");
  EXPECT_EQ(join_path("a", ".."), ".");
  EXPECT_EQ(folder_of("/x"), "/");
  EXPECT_EQ(folder_of("x"), ".");
  EXPECT_EQ(folder_of("/a/b"), "/a");
}

} // namespace
} // namespace dlhost::config
