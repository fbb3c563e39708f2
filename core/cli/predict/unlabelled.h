// The samples of --data, without labels, for a job whose source can read them.
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
  // `data`: files and folders; "-" is standard input, with a file's content or one path on each line.
  static Result<Unlabelled> open(Context&, const std::vector<std::string>& data);
  // The overrides that make these samples the job's test samples.
  Result<std::vector<std::string>> overrides(plugin::Registry&, const config::Job&) const;

 private:
  std::vector<std::string> listed() const;

  std::vector<std::string> paths_;
  std::optional<env::TemporaryFolder> folder_; // holds the content of standard input
  std::string come_;                           // the content of standard input
};

} // namespace dlhost::cli
