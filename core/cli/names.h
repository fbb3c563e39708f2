// The options of export and import for the other side's names of params.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "config/job.h"

namespace dlhost::cli {

struct NameOptions {
  std::string map;
  std::vector<std::string> rename, keep, ignore;
};
void add_names(CLI::App& command, NameOptions&);
Result<config::Names> names_of(Disk&, const NameOptions&);

} // namespace dlhost::cli
