#include "cli/unfinished.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "record/run_folder.h"
#include "run/checkpoints.h"

namespace dlhost::cli {

Result<std::string> unfinished_run(Context& context, const config::Job& job) {
  Disk& disk = context.host.disk();
  const std::string& named = job.record.folder;
  const auto newest = record::RunFolder::newest(disk, named.empty() ? "runs" : named, job.name);
  if (newest.status().code() == Code::not_found) return std::string();
  DLHOST_TRY(newest.status());
  const auto text = disk.read_text(*newest + "/summary.json");
  const auto summary = nlohmann::json::parse(text.ok() ? *text : "", nullptr, false);
  const std::string status = summary.is_object() ? summary.value("status", "running") : "running";
  if (status == "done" || status == "diverged") return std::string();
  const auto folders = run::Checkpoints::folders_of(*newest);
  const bool any =
      std::ranges::any_of(folders, [&](const std::string& folder) { return run::Checkpoints::any(disk, folder); });
  return any ? *newest : std::string();
}

} // namespace dlhost::cli
