// A run's output folder: its job, metrics, checkpoints and summary. Made once at the start of a run, by one task. A
// folder with a run in it is never overwritten, only resumed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>

namespace dlhost::record {

class RunFolder {
 public:
  // Makes PARENT/<job name>-<UTC time>-<n>, with the first n that no other run has.
  static Result<RunFolder> make(Host&, const std::string& parent, std::string_view job_name);
  // Makes the folder that the job names. Requires: it is new or empty.
  static Result<RunFolder> make_at(Host&, const std::string& path);
  // Opens the folder of an earlier run, to continue it.
  static Result<RunFolder> open(Host&, const std::string& path);
  // The newest folder that make() made in PARENT: for this job, or for any if `job_name` is empty.
  static Result<std::string> newest(Disk&, const std::string& parent, std::string_view job_name);
  // The newest whose name starts with `beginning`.
  static Result<std::string> newest_named(Disk&, const std::string& parent, std::string_view beginning);

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return concat(path_, "/", name); }

  // Saves the job as it was run: job.toml, or job-2.toml and so on if a resumed run's text differs from the newest.
  Status write_job(std::string_view text) const;
  // All saved jobs in a folder, the newest last.
  static std::vector<std::string> jobs_in(Disk&, const std::string& path);
  // The newest saved job in a folder; empty: none.
  static std::string job_in(Disk&, const std::string& path);
  // The newest saved job of a run, or of a checkpoint's run. Errors: there is none; `remedy` says what to do then.
  static Result<std::string> job_above(Disk&, const std::string& path, std::string_view remedy = "name a run's folder");
  // The path of the job with which a run started.
  static std::string first_job_of(const std::string& path);

 private:
  RunFolder(Disk& disk, std::string path) : disk_(&disk), path_(std::move(path)) {}

  Disk* disk_;
  std::string path_;
};

// "20261121T070856Z": a UNIX time for file names, which sort by time.
std::string utc_name(double wall_seconds);

} // namespace dlhost::record
