// A folder of one test, removed at its end, and plugin folders inside it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "plugin/search.h"

namespace dlhost::plugin {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "dlhost-pluginXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A search entry with a copy of a built plugin in it; called again with the same name, another one.
  SearchEntry entry_with(const std::string& name, const std::string& built, const std::string& as) {
    const auto path = folder_ / name;
    std::filesystem::create_directory(path);
    std::filesystem::copy_file(built, path / as);
    return {path.string(), "test"};
  }

  std::filesystem::path folder_;
};

} // namespace dlhost::plugin
