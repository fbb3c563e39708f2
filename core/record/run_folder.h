// The folder that a run leaves behind: its job, metrics, checkpoints and summary. Made once at the start of a run, by
// one task; a folder that has a run in it is never written over, only resumed.
#pragma once

#include <string>
#include <string_view>

#include <dlhost/host.h>

namespace dlhost::record {

class RunFolder {
 public:
  // PARENT/<job name>-<UTC time>-<n>, of which n is the first that no other run has.
  static Result<RunFolder> make(Host&, const std::string& parent, std::string_view job_name);
  // The folder that the job names: new, or empty.
  static Result<RunFolder> make_at(Host&, const std::string& path);
  // One that a run made before, to go on in it.
  static Result<RunFolder> open(Host&, const std::string& path);
  // The newest that make() left in PARENT: of this job, or of any when the name is empty.
  static Result<std::string> newest(Disk&, const std::string& parent, std::string_view job_name);
  // The newest of those whose names begin so.
  static Result<std::string> newest_named(Disk&, const std::string& parent, std::string_view beginning);

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return concat(path_, "/", name); }

  // Keeps the job as it was run: job.toml, or job-2.toml and so on where a resumed run has another text than the
  // newest.
  Status write_job(std::string_view text) const;
  // The newest of them in a folder; empty when there is none.
  static std::string job_in(Disk&, const std::string& path);
  // The newest that a run, or the run that a checkpoint is of, kept.
  static Result<std::string> job_above(Disk&, const std::string& path);
  // Where the first of them is, which the run began with.
  static std::string first_job_of(const std::string& path);

 private:
  RunFolder(Disk& disk, std::string path) : disk_(&disk), path_(std::move(path)) {}

  Disk* disk_;
  std::string path_;
};

// "20261121T070856Z": seconds since 1970 as a part of a file's name, which sorts as time does.
std::string utc_name(double wall_seconds);

} // namespace dlhost::record
