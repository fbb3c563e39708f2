// Job files that grow without bound: too deep, too long, or doubling with every line. All fail quickly.
#include "config/depth.h"

#include "fixture.h"

namespace dlhost::config {
namespace {

std::string times(std::size_t count, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::size_t lines_of(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1; }

// Nested blocks, each with `uses` uses of the next one; `how` is the text of a use.
std::string nested_blocks(int blocks, int uses, const std::string& how, const std::string& first) {
  std::string text = "name = \"x\"\n[[layer]]\nname = \"d\"\ntype = \"csv\"\ntrain = \"t\"\n";
  for (int b = 0; b < blocks; ++b) {
    text += concat("[[block]]\nname = \"b", b, "\"\nparams = [\"p\"]\n");
    for (int u = 0; u < uses; ++u)
      text += concat("[[block.layer]]\nname = \"l", u, "\"\nblock = \"b", b + 1, "\"\n", how, "\n");
  }
  text += concat("[[block]]\nname = \"b", blocks, "\"\nparams = [\"p\"]\n");
  text += "[[block.layer]]\nname = \"l\"\ntype = \"relu\"\n";
  return text + concat("[[layer]]\nname = \"u\"\nblock = \"b0\"\nsrc = \"d\"\n", first, "\n");
}

class Limits : public LoadTest {};

TEST_F(Limits, Depth) {
  const std::string said = ": tables and lists are nested more than 64 deep";
  const std::string deep = times(200'000, "a.");
  EXPECT_EQ(problems("x = 1\n" + deep + "a = 1\n"), "job.toml:2:129" + said);
  EXPECT_EQ(problems("[" + deep + "a]\n"), "job.toml:1:130" + said);
  EXPECT_EQ(problems("[[" + deep + "a]]\n"), "job.toml:1:67" + said);
  EXPECT_EQ(problems("x = " + times(100'000, "[")), "job.toml:1:69" + said);
  EXPECT_EQ(problems("x = " + times(100'000, "{a = ")), "job.toml:1:321" + said);
  EXPECT_EQ(problems("['\xc3\xa9'." + times(40, "a.") + "b]\n" + times(40, "b.") + "b = 1\n"), "job.toml:2:45" + said);
  EXPECT_THAT(problems("name = \"x\"\n", {"train." + deep + "a=1"}),
              testing::HasSubstr("a....: the key is of more than 64 parts"));
  EXPECT_THAT(problems("name = \"x\"\n", {"train.batch=" + times(40'000, "[")}), testing::HasSubstr("[[..." + said));
}

// Brackets in texts and comments have no depth, and 64 levels are allowed.
TEST_F(Limits, DepthOfWhatIsNone) {
  const std::string dots = times(1000, "a.") + times(1000, "[{");
  for (const std::string& text :
       {"# " + dots + "\n", "a = \"" + dots + "\\\"" + dots + "\"", "a = '" + dots + "'\n",
        "a = \"\"\"" + dots + "\n\"\"" + dots + "\\\"\"\"\"\"\nb = 1\n",
        "a = '''" + dots + "''\n" + dots + "'''''\nb = 1", "\"" + dots + "\" = [\n1.5, 2.5, # " + dots + "\n3.5]\n",
        times(1000, "[a.b]\nc.d = [{ e = [1] }, 2]\n[[f.g]]\n")})
    EXPECT_FALSE(too_deep_at(text)) << text.substr(0, 40);
  EXPECT_FALSE(too_deep_at(times(63, "a.") + "a = 1"));
  EXPECT_TRUE(too_deep_at(times(64, "a.") + "a = 1"));
}

TEST_F(Limits, Includes) {
  for (int i = 0; i < 100; ++i) disk.files[concat(i, ".toml")] = concat("include = \"", i + 1, ".toml\"\n");
  EXPECT_EQ(problems("include = \"0.toml\"\n"), "30.toml:1:1: include: files include one another more than 32 deep");
  for (int i = 0; i < 24; ++i)
    disk.files[concat(i, ".toml")] = concat("include = [\"", i + 1, ".toml\", \"", i + 1, ".toml\"]\n");
  disk.files["24.toml"] = "name = \"x\"\n";
  EXPECT_THAT(problems("include = \"0.toml\"\n"),
              testing::EndsWith("include: a job has at most 256 files, one that comes twice counted twice"));
  disk.files["big.toml"] = "# " + std::string(9'000'000, 'x') + "\n";
  EXPECT_EQ(problems("include = [\"big.toml\", \"big.toml\"]\n"),
            "job.toml:1:24: include: the job's files come to more than 16 MiB");
}

// Merging does not search one file for each key of the other.
TEST_F(Limits, IncludesOfManyKeys) {
  std::string keys;
  for (int i = 0; i < 100'000; ++i) keys += concat("k", i, " = 1\n");
  std::string layers;
  for (int i = 0; i < 20'000; ++i) layers += concat("[[layer]]\nname = \"l", i, "\"\nunits = 2\n");
  disk.files["base.toml"] = "[a]\n" + keys + layers;
  EXPECT_THAT(problems("include = [\"base.toml\", \"base.toml\"]\n"), testing::HasSubstr("a: unknown option"));
}

TEST_F(Limits, Blocks) {
  const std::string one = "with = { p = 1 }";
  EXPECT_THAT(problems(nested_blocks(1000, 1, one, one)),
              testing::HasSubstr("blocks use blocks more than 32 deep (in the block used at job.toml:"));
  EXPECT_EQ(problems(nested_blocks(24, 2, one, one)), "job.toml:276:1: the blocks come to more than 20000 layers");
  const std::string said = "the text that blocks are filled in with is more than 64 MiB";
  EXPECT_EQ(problems(nested_blocks(30, 1, "with = { p = \"$p$p\" }", "with = { p = \"xy\" }")),
            "job.toml:222:1: " + said);
  EXPECT_EQ(problems(nested_blocks(30, 1, "with = { p = [\"$p\", \"$p\"] }", one)), "job.toml:222:1: " + said);
  EXPECT_EQ(problems(nested_blocks(30, 1, one + "\nsrc = [\"@in\", \"@in\"]", one)), "job.toml:252:1: " + said);
}

TEST_F(Limits, ProblemsOfOneKindAreCounted) {
  std::string keys = "name = \"x\"\n[train]\n";
  for (int i = 0; i < 300'000; ++i) keys += concat("key_", i, " = 1\n");
  const std::string said = problems(keys);
  EXPECT_EQ(lines_of(said), 22U); // one more line: the job has no layers
  EXPECT_THAT(said, testing::HasSubstr("job.toml:22:1: train.key_19: unknown option; known: "));
  EXPECT_THAT(said, testing::EndsWith("\njob.toml: and 299980 more of this kind: unknown option"));
}

// Many unknown keys do not hide the known ones.
TEST_F(Limits, ACrowdHidesNothing) {
  std::string keys;
  for (int i = 0; i < 5000; ++i) keys += concat("key_", i, " = 1\n");
  const std::string said = problems(keys + "name = \"x\"\n[train]\n" + keys + "batch = 0\n[[layer]]\n" + keys +
                                    "name = \"d\"\ntype = \"csv\"\ntrain = \"t\"\n");
  EXPECT_THAT(said, testing::HasSubstr("train.batch: must be at least 1, but is 0"));
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("is required")));
  EXPECT_THAT(said, testing::HasSubstr("\njob.toml: and 14980 more of this kind: unknown option"));
}

// Params may have any names and be numerous.
TEST_F(Limits, NamesOfTheUsersOwnAreNoCrowd) {
  std::string text =
      "name = \"x\"\n[[layer]]\nname = \"d\"\ntype = \"csv\"\ntrain = \"t\"\n[train.init_from]\nfrom = \"f\"\n";
  text += "[train.init_from.rename]\n";
  for (int i = 0; i < 5000; ++i) text += concat("key_", i, " = \"a", i, "\"\n");
  EXPECT_EQ(job(text).train.start.names.rename.size(), 5000U);
}

TEST_F(Limits, UnknownNamesOfManyLayers) {
  std::string text = "name = \"x\"\n[[layer]]\nname = \"d\"\ntype = \"csv\"\ntrain = \"t\"\n";
  for (int i = 0; i < 5000; ++i)
    text += concat("[[layer]]\nname = \"layer_number_", i, "\"\ntype = \"relu\"\nsrc = \"no_layer_number_", i, "\"\n");
  const std::string said = problems(text);
  EXPECT_EQ(lines_of(said), 21U);
  EXPECT_THAT(said, testing::HasSubstr("src: unknown layer 'no_layer_number_0'; did you mean 'layer_number_0'?"));
  EXPECT_THAT(said, testing::EndsWith("\njob.toml: and 4980 more of this kind: unknown layer"));
}

TEST_F(Limits, MessagesAreCutAndPrintable) {
  const std::string said = problems("name = \"x\"\n\"\\u001b[31m" + std::string(100'000, 'k') + "\" = 1\n");
  EXPECT_THAT(said, testing::HasSubstr("job.toml:2:1: ?[31mkkk"));
  EXPECT_LT(said.size(), 6000U);
}

TEST_F(Limits, TextsWithAZero) {
  const std::string said = ": a text with the character U+0000 in it means nothing in a job file";
  EXPECT_EQ(problems("name = \"x\"\n[record]\nfolder = \"a\\u0000b\"\n"), "job.toml:3:1" + said);
  EXPECT_EQ(problems("name = \"x\"\n\"a\\u0000b\" = 1\n"), "job.toml:2:1" + said);
  EXPECT_THAT(problems("name = \"x\"\n", {"record.folder=\"a\\u0000b\""}), testing::HasSubstr(said));
}

TEST_F(Limits, TheNameOfAJob) {
  const std::string layer = "[[layer]]\nname = \"d\"\ntype = \"csv\"\ntrain = \"t\"\n";
  EXPECT_EQ(problems("name = \"" + std::string(200, 'x') + "\"\n" + layer), "");
  EXPECT_EQ(problems("name = \"" + std::string(300, 'x') + "\"\n" + layer),
            "job.toml:1:1: name: must be at most 200 bytes long, because run folders are named after it, but has 300");
}

// Also if no part of this job uses the plugin.
TEST_F(Limits, NamesThatOneWorkerDoesNotUse) {
  const std::string layer = "name = \"x\"\n[[layer]]\nname = \"d\"\ntype = \"csv\"\ntrain = \"t\"\n[topology]\n";
  for (const char* key : {"consistency", "codec", "sync", "transport", "network", "rendezvous", "device"})
    EXPECT_THAT(problems(layer + key + " = \"foo\"\n"),
                testing::StartsWith(concat("job.toml:7:1: topology.", key, ": unknown ")));
  EXPECT_THAT(problems(layer + "consistency = \"strickt\"\n"), testing::HasSubstr("did you mean 'strict'?"));
}

} // namespace
} // namespace dlhost::config
