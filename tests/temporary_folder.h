// A temporary folder, removed with its content at the end of a test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace dlhost::test {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "dlhost-test-XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("no folder can be made like " + path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored; // leftovers disturb no other test
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

} // namespace dlhost::test
