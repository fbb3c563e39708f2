#include "cli/run_named.h"

#include "record/run_folder.h"

namespace dlhost::cli {
namespace {

constexpr const char* where_runs_are = "runs";

} // namespace

CLI::Option* add_run_named(CLI::App& command, std::string& run, const std::string& also) {
  return command
      .add_option("run", run, "a run's folder" + also + ", or the beginning of its name (the newest run under runs/)")
      ->type_name("RUN");
}

Result<std::string> run_named(Disk& disk, const std::string& words) {
  if (words.empty()) {
    auto newest = record::RunFolder::newest(disk, where_runs_are, "");
    if (newest.ok()) return newest;
    return Status::not_found("no run is named, and there is no run in the folder ", where_runs_are,
                             " here: name a run's folder, or begin one (dlhost run JOB.toml)");
  }
  if (disk.exists(words)) {
    const auto newest = record::RunFolder::newest(disk, words, ""); // a folder of runs, not a run
    return newest.ok() ? *newest : words;
  }
  const auto slash = words.rfind('/');
  const std::string parent = slash == std::string::npos ? where_runs_are : words.substr(0, slash);
  const std::string beginning = slash == std::string::npos ? words : words.substr(slash + 1);
  const auto found = record::RunFolder::newest_named(disk, parent, beginning);
  return found.ok() && !beginning.empty() ? *found : words;
}

} // namespace dlhost::cli
