#include "record/run_folder.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>

#include <fmt/format.h>

namespace dlhost::record {

namespace {

// A run's first file: the run whose line is first in it owns the folder.
constexpr std::string_view claim_file = "started";

std::string as_file_name(std::string_view text) {
  std::string name(text);
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '_' && letter != '.') letter = '-';
  if (name.empty() || name.front() == '.') name.insert(0, "run");
  return name;
}

// Appended lines stay whole and in order: of several runs that start at once exactly one finds its own line first.
Result<bool> claim(Host& host, const std::string& folder) {
  DLHOST_TRY(host.disk().make_directory(folder));
  const std::string path = concat(folder, "/", claim_file);
  const double wall = host.clock().wall_seconds();
  const std::string line = fmt::format("{} {} {:.9f}\n", utc_name(wall), host.clock().now(), wall);
  DLHOST_ASSIGN(const auto log, host.disk().open_log(path));
  DLHOST_TRY(log->append(line));
  DLHOST_TRY(log->sync());
  DLHOST_ASSIGN(const std::string all, host.disk().read_text(path));
  return all.starts_with(line);
}

std::string job_file(const std::string& folder, int number) {
  return number == 1 ? concat(folder, "/job.toml") : concat(folder, "/job-", number, ".toml");
}

struct Started {
  std::string time;
  std::uint64_t number = 0;
  std::string folder;
};

// Parses a folder name of make().
std::optional<Started> started(const std::string& folder, std::string_view job_name) {
  constexpr std::size_t time_size = sizeof("20261121T070856Z") - 1;
  const auto last = folder.rfind('-');
  if (last == std::string::npos || last < time_size + 1) return {};
  Started run{folder.substr(last - time_size, time_size), 0, folder};
  const char* end = folder.data() + folder.size();
  if (std::from_chars(folder.data() + last + 1, end, run.number).ptr != end || last + 1 == folder.size()) return {};
  if (run.time[8] != 'T' || run.time.back() != 'Z' || folder[last - time_size - 1] != '-') return {};
  if (!job_name.empty() && folder.substr(0, last - time_size - 1) != as_file_name(job_name)) return {};
  return run;
}

using IsWanted = std::function<std::optional<Started>(const std::string& folder)>;

Result<std::string> newest_of(Disk& disk, const std::string& parent, const std::string& which, const IsWanted& wanted) {
  if (!disk.exists(parent)) return Status::not_found("there are no runs", which, ": no folder ", parent);
  DLHOST_ASSIGN(const auto entries, disk.list(parent));
  std::optional<Started> best;
  for (const auto& entry : entries) {
    if (!entry.directory) continue;
    auto run = wanted(entry.name);
    if (run && (!best || std::tie(best->time, best->number) < std::tie(run->time, run->number))) best = std::move(run);
  }
  if (!best) return Status::not_found("there are no runs", which, " in the folder ", parent);
  return concat(parent, "/", best->folder);
}

} // namespace

std::string utc_name(double wall_seconds) {
  using namespace std::chrono;
  const sys_seconds time{seconds(static_cast<std::int64_t>(std::floor(wall_seconds)))};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

Result<RunFolder> RunFolder::make(Host& host, const std::string& parent, std::string_view job_name) {
  const std::string base = concat(parent, "/", as_file_name(job_name), "-", utc_name(host.clock().wall_seconds()), "-");
  for (std::uint64_t number = 1;; ++number) {
    const std::string path = concat(base, number);
    if (host.disk().exists(path)) continue;
    DLHOST_ASSIGN(const bool ours, claim(host, path));
    if (ours) return RunFolder(host.disk(), path);
  }
}

Result<RunFolder> RunFolder::make_at(Host& host, const std::string& path) {
  if (host.disk().exists(path)) {
    DLHOST_ASSIGN(const auto entries, host.disk().list(path));
    if (!entries.empty())
      return Status::exists(
          "the folder ", path, " is not empty (", entries.front().name,
          " is in it), and no run overwrites another: name a new folder, or continue this one with --resume");
  }
  DLHOST_ASSIGN(const bool ours, claim(host, path));
  if (!ours) return Status::exists("another run started in the folder ", path, " at this moment: name a new folder");
  return RunFolder(host.disk(), path);
}

Result<RunFolder> RunFolder::open(Host& host, const std::string& path) {
  if (!host.disk().exists(path)) return Status::not_found("there is no run folder ", path);
  if (!host.disk().exists(concat(path, "/", claim_file)))
    return Status::not_found("no run was started in the folder ", path, ": its file '", claim_file, "' is missing");
  return RunFolder(host.disk(), path);
}

Result<std::string> RunFolder::newest(Disk& disk, const std::string& parent, std::string_view job_name) {
  const std::string of_what = job_name.empty() ? "" : concat(" of the job '", job_name, "'");
  return newest_of(disk, parent, of_what, [&](const std::string& folder) { return started(folder, job_name); });
}

Result<std::string> RunFolder::newest_named(Disk& disk, const std::string& parent, std::string_view beginning) {
  return newest_of(disk, parent, concat(" named '", beginning, "...'"), [&](const std::string& folder) {
    return folder.starts_with(beginning) ? started(folder, "") : std::optional<Started>();
  });
}

Status RunFolder::write_job(std::string_view text) const {
  int number = 1;
  while (disk_->exists(job_file(path_, number))) ++number;
  if (number > 1) {
    DLHOST_ASSIGN(const std::string newest, disk_->read_text(job_file(path_, number - 1)));
    if (newest == text) return {};
  }
  return disk_->write_text(job_file(path_, number), text);
}

// A checkpoint lies two folders below its run: RUN/checkpoints/step-000000100.
Result<std::string> RunFolder::job_above(Disk& disk, const std::string& path, std::string_view remedy) {
  for (const char* up : {"", "/..", "/../.."})
    if (auto job = job_in(disk, path + up); !job.empty()) return job;
  return Status::not_found("there is no job.toml in '", path,
                           "', nor two folders above it, where a checkpoint's run has one: ", remedy);
}

std::string RunFolder::first_job_of(const std::string& path) { return job_file(path, 1); }

std::vector<std::string> RunFolder::jobs_in(Disk& disk, const std::string& path) {
  std::vector<std::string> all;
  for (int number = 1; disk.exists(job_file(path, number)); ++number) all.push_back(job_file(path, number));
  return all;
}

std::string RunFolder::job_in(Disk& disk, const std::string& path) {
  const auto all = jobs_in(disk, path);
  return all.empty() ? "" : all.back();
}

} // namespace dlhost::record
