// The folder in which the workers of one machine meet. It has the job, the posting (below), and the files of their
// address book (folder_address_book.h). Only the owner of the folder can read it, because it has the job's secret.
#pragma once

#include <string>
#include <vector>

#include <dlhost/host.h>

#include "config/job.h"
#include "env/secret.h"

namespace dlhost::run {

// The facts that each worker needs about all workers.
struct Posting {
  std::vector<std::uint32_t> machines; // of each seat
  env::Secret secret{};
  bool by_leader = true;      // the first worker is the process that started these
  std::uint32_t epoch = 0;    // the attempt of the run, if several attempts have the same secret
  std::string host_name = {}; // their machine's name; empty: there is one machine
};

class MeetingFolder {
 public:
  static std::string job_in(const std::string& folder) { return folder + "/job.toml"; }
  static Status write(Disk&, const std::string& folder, const config::Job&, const Posting&);
  static Status write_posting(Disk&, const std::string& folder, const Posting&);
  static Result<Posting> read_posting(Disk&, const std::string& folder);
  // The first reason that fail() recorded why the workers cannot begin. Ok: there is none.
  static Status failure(Disk&, const std::string& folder);
  static void fail(Disk&, const std::string& folder, const Status&);
  static Status forget_failure(Disk&, const std::string& folder);
  // All workers begin anew elsewhere: those that went on without the first server group end.
  static void give_up(Disk&, const std::string& folder);
  static bool is_given_up(Disk&, const std::string& folder);
  // Takes the next number for processes that join the run (Admissions). Only the leader takes numbers.
  static Result<std::uint32_t> take_number(Disk&, const std::string& folder);

  // Should the leader be killed, workers may continue the run in that folder. Errors: not_found: they may not.
  static Status bequeath(Disk&, const std::string& folder, const std::string& run);
  static Result<std::string> bequeathed(Disk&, const std::string& folder);

  // A reason as text, for the file and for other machines, and back.
  static std::string words_of(const Status&);
  static Status status_of(const std::string& words);
};

} // namespace dlhost::run
