#include "cli/names.h"

#include "config/names.h"

namespace dlhost::cli {

void add_names(CLI::App& command, NameOptions& options) {
  const auto list = [&](const char* name, std::vector<std::string>& into, const char* doc, const char* type) {
    command.add_option(name, into, doc)->type_name(type)->allow_extra_args(false);
  };
  command.add_option("--map", options.map, "a TOML file with rename, except and unused")->type_name("NAMES.toml");
  list("--rename", options.rename, "a param's name in the file; * stands for any part of a name", "'OURS=THEIRS'");
  list("--except,--keep", options.keep, "params of the net to leave out", "PATTERN");
  list("--unused,--ignore", options.ignore, "tensors of the file to leave out", "PATTERN");
}

Result<config::Names> names_of(Disk& disk, const NameOptions& options) {
  config::Names names;
  if (!options.map.empty()) {
    DLHOST_ASSIGN(names, config::load_names(disk, options.map));
  }
  for (const auto& rename : options.rename) DLHOST_TRY(config::add_rename(names, rename));
  names.keep.insert(names.keep.end(), options.keep.begin(), options.keep.end());
  names.ignore.insert(names.ignore.end(), options.ignore.begin(), options.ignore.end());
  return names;
}

} // namespace dlhost::cli
