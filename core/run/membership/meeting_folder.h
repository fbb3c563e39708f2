// The folder in which the workers of one machine meet: the job, where each of them is, the job's secret, and the files
// of their roster (folder_roster.h). Its owner alone reads it.
#pragma once

#include <string>
#include <vector>

#include <dlhost/host.h>

#include "config/job.h"
#include "env/secret.h"

namespace dlhost::run {

// What workers are told of all of them.
struct Posting {
  std::vector<std::uint32_t> machines; // of each seat
  env::Secret secret{};
  bool by_leader = true; // the first worker is the process that started these
  // Which attempt of the run, where several have one secret; and what their machine is called, where there are others.
  std::uint32_t epoch = 0;
  std::string host_name = {};
};

class MeetingFolder {
 public:
  static std::string job_in(const std::string& folder) { return folder + "/job.toml"; }
  static Status write(Disk&, const std::string& folder, const config::Job&, const Posting&);
  static Status write_posting(Disk&, const std::string& folder, const Posting&);
  static Result<Posting> read_posting(Disk&, const std::string& folder);
  // Why they cannot begin, if somebody has said so; the first reason counts.
  static Status failure(Disk&, const std::string& folder);
  static void fail(Disk&, const std::string& folder, const Status&);
  static Status forget_failure(Disk&, const std::string& folder);

  // A reason as it is written down, and sent to other machines.
  static std::string words_of(const Status&);
  static Status status_of(const std::string& words);
};

} // namespace dlhost::run
