// What belongs to dlhost beside its binary, in a folder of the install or in one of the build: examples, and programs
// of their own, so that the host links neither a test library nor what it is measured against.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace dlhost::cli {

class Companions {
 public:
  // `places`: folders, as seen from that of this program.
  Companions(Context& context, const std::vector<std::string>& places);

  // Empty: there is none of that name.
  std::string find(std::string_view name) const;
  std::vector<std::string> names() const;
  const std::vector<std::string>& folders() const { return folders_; }
  std::string looked() const;
  // They lie elsewhere, and would not find the install's plugins by themselves.
  std::vector<std::string> plugin_folders() const;

 private:
  Context& context_;
  std::string install_folder_; // of plugins
  std::vector<std::string> folders_;
};

// This process is that program from now on. Returns only when it cannot be.
Status become(const std::string& path, std::vector<std::string> words);

} // namespace dlhost::cli
