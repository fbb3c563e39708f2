// What --data names: samples without labels, for a job whose source can read such.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/job.h"
#include "env/temporary_folder.h"

namespace dlhost::cli {

class Unlabelled {
 public:
  // `data`: files and folders; "-" is standard input, which holds a file, or the paths of several.
  static Result<Unlabelled> open(Context&, const std::vector<std::string>& data);
  // What is to be set in a job, so that its test samples are these.
  Result<std::vector<std::string>> overrides(plugin::Registry&, const config::Job&) const;

 private:
  std::vector<std::string> listed() const;

  std::vector<std::string> paths_;
  std::optional<env::TemporaryFolder> folder_; // has what came from standard input
  std::string come_;                           // that
};

} // namespace dlhost::cli
