#include "cli/run/unfinished_run.h"

#include <algorithm>

#include "config/dump.h"
#include "env/process/process.h"
#include "record/run_folder.h"
#include "record/summary.h"
#include "run/recovery/leadership.h"
#include "run/session/checkpoints.h"

namespace dlhost::cli {
namespace {

// Empty: there is none.
Result<std::string> newest_run(Disk& disk, const config::Job& job) {
  const std::string& named = job.record.folder;
  auto newest = record::RunFolder::newest(disk, named.empty() ? "runs" : named, job.name);
  if (newest.status().code() == Code::not_found) return std::string();
  return newest;
}

} // namespace

Result<std::string> unfinished_run(Context& context, const config::Job& job) {
  Disk& disk = context.host.disk();
  DLHOST_ASSIGN(const std::string newest, newest_run(disk, job));
  if (newest.empty()) return std::string();
  const std::string status = record::status_told(disk, newest);
  if (status == "done" || status == "diverged") return std::string();
  const auto folders = run::Checkpoints::folders_of(newest);
  const bool any =
      std::ranges::any_of(folders, [&](const std::string& folder) { return run::Checkpoints::any(disk, folder); });
  return any ? newest : std::string();
}

Result<std::string> unfinished_run_of(Context& context, const config::Job& job, const std::string& membership) {
  Disk& disk = context.host.disk();
  if (membership.empty()) return std::string();
  DLHOST_ASSIGN(const std::string newest, newest_run(disk, job));
  if (newest.empty()) return std::string();
  const std::string status = record::status_told(disk, newest);
  if (status != "running" && status != "failed") return std::string(); // "failed": of one that noticed that it is out
  const auto leader = run::Leadership::told(disk, newest);
  if (!leader.ok() || leader->membership != membership) return std::string();
  const auto began_with = disk.read_text(record::RunFolder::first_job_of(newest));
  return began_with.ok() && *began_with == config::to_toml(job, env::working_folder()) ? newest : std::string();
}

} // namespace dlhost::cli
