// Files installed beside the binary: examples and separate programs (benchmarks, conformance), so that the host does
// not link their libraries. They lie in a folder of the install or of the build.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace dlhost::cli {

class Companions {
 public:
  // `places`: folders relative to this program's.
  Companions(Context& context, const std::vector<std::string>& places);

  // The path of a companion; empty: none of that name.
  std::string find(std::string_view name) const;
  std::vector<std::string> names() const;
  const std::vector<std::string>& folders() const { return folders_; }
  std::string looked() const;
  // The install's plugin folders: companions lie elsewhere and would not find them.
  std::vector<std::string> plugin_folders() const;

 private:
  Context& context_;
  std::string install_folder_; // the install's plugin folder
  std::vector<std::string> folders_;
};

// Replaces this process by that program (exec). Returns only on failure.
Status become(const std::string& path, std::vector<std::string> words);

} // namespace dlhost::cli
