#include "tools/audit/job_held.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "run/recovery/ledgers.h"

namespace dlhost::tools {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

} // namespace

std::string job_of_attempt(Disk& disk, std::span<const std::string> jobs, const std::string& digest) {
  const auto found = std::ranges::find_if(jobs.rbegin(), jobs.rend(), [&](const std::string& job) {
    const auto text = disk.read_text(job);
    return text.ok() && run::ledger_digest(*text) == digest;
  });
  return found == jobs.rend() ? "" : *found;
}

void look_for_jobs(Disk& disk, const std::string& folder, Audit& audit) {
  std::set<std::string> told;
  for (const Audit::File& file : audit.files) {
    if (file.job.empty() || !told.insert(file.job).second) continue;
    const std::string path = run::job_in(folder, file.job);
    if (!disk.exists(path)) {
      audit.faults.push_back(concat(path, " is missing: ", file.path, " began with it"));
      continue;
    }
    const auto text = disk.read_text(path);
    if (!text.ok())
      audit.faults.push_back(text.status().message());
    else if (const auto digest = run::ledger_digest(*text); digest != file.job)
      audit.faults.push_back(concat(path, " was changed: its digest is ", digest));
  }
}

std::string job_differences(Disk& disk, const std::string& job, const std::string& kept) {
  const auto is = disk.read_text(job), was = disk.read_text(kept);
  if (!is.ok() || !was.ok()) return (is.ok() ? was : is).status().message();
  const auto now = lines_of(*is), then = lines_of(*was);
  const std::size_t most = now.size() == then.size() ? 3 : 1; // behind a line that was added all lines differ
  std::string text = concat(job, " is not the job of the run, which is in ", kept);
  std::size_t told = 0;
  for (std::size_t i = 0; i < std::max(now.size(), then.size()) && told < most; ++i) {
    const std::string here = i < now.size() ? now[i] : "", there = i < then.size() ? then[i] : "";
    if (here == there) continue;
    text += fmt::format("{} line {} is '{}', and was '{}'", told++ == 0 ? ":" : ";", i + 1, here, there);
  }
  return text;
}

} // namespace dlhost::tools
