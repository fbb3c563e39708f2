// Who leads a run: the process that holds the file `leader` in the run's folder, which also says who works for it.
// There is one at a time, and none once it has ended.
#pragma once

#include <string>
#include <vector>

#include <dlhost/host.h>

#include "env/file_lock.h"
#include "run/recovery.h"

namespace dlhost::run {

struct Leader {
  int process = 0;
  std::vector<int> workers; // processes, from the second seat on
  Recovery::Past past;
};

class Leadership {
 public:
  // Code::exists: another does, and the message says who. From then on the file names this process, without workers.
  static Result<Leadership> take(Disk&, const std::string& run);
  // What hand_over() said, in the program that this process runs next.
  static Result<Leadership> adopt(Disk&, const std::string& run, int descriptor);
  Result<int> hand_over() { return lock_.hand_over(); }
  Status tell(const Leader&);
  // What the last one told; empty where nobody did.
  static Result<Leader> told(Disk&, const std::string& run);
  // Whether somebody leads it now.
  static Result<bool> led(const std::string& run);
  static constexpr const char* file_name = "leader"; // in the run's folder

 private:
  explicit Leadership(env::FileLock lock) : lock_(std::move(lock)) {}

  env::FileLock lock_;
};

} // namespace dlhost::run
