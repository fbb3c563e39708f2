#include <gtest/gtest.h>

#include <dlhost/parts.h>
#include <dlhost/schema.h>
#include <nlohmann/json.hpp>

#include "fake_host.h"
#include "folder.h"
#include "plugin/describe.h"
#include "plugin/registry.h"

namespace dlhost::plugin {
namespace {

namespace fs = std::filesystem;

const std::string ones = DLHOST_GOOD_PLUGINS "/ones.so";

class RegistryTest : public FolderTest {
 protected:
  FakeHost host_;
};

TEST_F(RegistryTest, MakesAProduct) {
  const SearchEntry entries[] = {entry_with("a", ones, "ones.so")};
  Registry registry(entries, host_);
  Table options;
  options.entries.emplace_back("scale", Value{2.5, {}});
  auto made = registry.create<Initializer>("ones", options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(registry.names(Kind::initializer), (std::vector<std::string>{"ones", "zeros"}));
  const Schema* schema = registry.find(Kind::initializer, "ones");
  ASSERT_NE(schema, nullptr);
  EXPECT_EQ(schema->doc(), "Every element the same.");
  EXPECT_EQ(host_.logged, "");
}

TEST_F(RegistryTest, UnknownNameListsKnownOnesAndTheNearest) {
  const SearchEntry entries[] = {entry_with("a", ones, "ones.so")};
  Registry registry(entries, host_);
  const auto missing = registry.factory(Kind::initializer, "onse");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), Code::not_found);
  EXPECT_NE(missing.status().message().find("unknown initializer 'onse'; did you mean 'ones'?"), std::string::npos);
  EXPECT_NE(missing.status().message().find("zeros"), std::string::npos);
  EXPECT_NE(missing.status().message().find(entries[0].path), std::string::npos);
}

TEST_F(RegistryTest, TellsWhoChecksAJobWhatIsWrong) {
  const SearchEntry entries[] = {entry_with("a", ones, "ones.so")};
  fs::resize_file(entries[0].path + "/ones.so", 100);
  Registry registry(entries, host_);
  EXPECT_EQ(registry.find(Kind::initializer, "ones"), nullptr);
  EXPECT_NE(registry.why_not(Kind::initializer, "ones").find(entries[0].path + "/ones.so): "), std::string::npos);
  EXPECT_EQ(registry.why_not(Kind::initializer, "ones"), registry.schema(Kind::initializer, "ones").status().message());
}

TEST_F(RegistryTest, AnUnknownNameTellsWhichFilesCouldNotBeRead) {
  const SearchEntry entries[] = {entry_with("a", ones, "ones.so"), entry_with("a", ones, "other.so")};
  fs::resize_file(entries[0].path + "/other.so", 100);
  Registry registry({entries, 1}, host_);
  const std::string told = registry.factory(Kind::initializer, "twos").status().message();
  EXPECT_NE(told.find(concat(entries[0].path, "/other.so is not used: ")), std::string::npos) << told;
  EXPECT_NE(told.find("truncated"), std::string::npos) << told;
}

TEST_F(RegistryTest, NoPluginAtAllIsSaidOnce) {
  const SearchEntry entries[] = {{folder_ / "nowhere", "--plugin-dir"}, {"build", "DLHOST_PLUGIN_PATH"}};
  Registry registry(entries, host_);
  const Status none = any_found(registry.catalogue());
  ASSERT_FALSE(none.ok());
  for (const auto& words : {concat(folder_ / "nowhere", " (--plugin-dir; does not exist)"),
                            std::string("build (DLHOST_PLUGIN_PATH; not used: it depends on the working directory"),
                            std::string("Name their folder with --plugin-dir")})
    EXPECT_NE(none.message().find(words), std::string::npos) << none.message();
  const SearchEntry some[] = {entry_with("a", ones, "ones.so")};
  EXPECT_TRUE(any_found(Registry(some, host_).catalogue()).ok());
}

TEST_F(RegistryTest, TwoInOneFolderAreAnError) {
  entry_with("a", ones, "ones.so");
  const SearchEntry entries[] = {entry_with("a", ones, "other.so")};
  Registry registry(entries, host_);
  const auto twice = registry.factory(Kind::initializer, "ones");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.status().code(), Code::exists);
  for (auto name : {"/ones.so", "/other.so"})
    EXPECT_NE(twice.status().message().find(entries[0].path + name), std::string::npos) << twice.status().message();
}

TEST_F(RegistryTest, AnEarlierFolderOverridesAndSaysSo) {
  const SearchEntry entries[] = {entry_with("a", ones, "ones.so"), entry_with("b", ones, "ones.so")};
  Registry registry(entries, host_);
  ASSERT_TRUE(registry.factory(Kind::initializer, "ones").ok());
  ASSERT_TRUE(registry.factory(Kind::initializer, "ones").ok());
  EXPECT_EQ(host_.logged, concat("info: the initializer 'ones' comes from ", entries[0].path,
                                 "/ones.so, which overrides ", entries[1].path, "/ones.so\n"));
}

TEST_F(RegistryTest, ABrokenFileThatIsAskedForIsAnErrorNotASkip) {
  const SearchEntry entries[] = {entry_with("a", ones, "ones.so"), entry_with("b", ones, "ones.so")};
  fs::resize_file(entries[0].path + "/ones.so", 100);
  Registry registry(entries, host_);
  const auto broken = registry.factory(Kind::initializer, "ones");
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.status().message().find(entries[0].path + "/ones.so"), std::string::npos);
  EXPECT_NE(broken.status().message().find("truncated"), std::string::npos) << broken.status().message();
}

// A plugin's description is shown on terminals and read by programs.
TEST(Describe, ShowsNoMoreThanTextOfASchema) {
  struct Options {
    std::int64_t units = 1;
  };
  const auto shown = describe(SchemaOf<Options>("clears \x1b[2J").option("units", &Options::units, "\xff"));
  EXPECT_EQ(shown["doc"], "clears \\x1b[2J");
  EXPECT_EQ(shown["options"][0]["doc"], "\\xff");
}

} // namespace
} // namespace dlhost::plugin
