// A folder of one test, and plugin folders inside it.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "../../temporary_folder.h"
#include "plugin/search.h"

namespace dlhost::plugin {

class FolderTest : public testing::Test {
 protected:
  // A search entry with a copy of a built plugin; a further call with the same name adds another plugin.
  SearchEntry entry_with(const std::string& name, const std::string& built, const std::string& as) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directory(path);
    std::filesystem::copy_file(built, path / as);
    return {path.string(), "test"};
  }

  test::TemporaryFolder folder_;
};

} // namespace dlhost::plugin
