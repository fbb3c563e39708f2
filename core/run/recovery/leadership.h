// Who leads a run: the process that holds the file `leader` in the run's folder. There is one at a time, and none once
// it has ended. Who works for it, and what the run has gone through, stands in `leader.json`, which is replaced as a
// whole: whoever reads it, and whenever its writer is killed, it is what was told last. A mark that each leader draws
// says on another machine whether this folder is to be seen there as well, and not just one of the same name; what the
// membership is called whose run this is lets those find it who come when all have gone that knew of it (members.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "env/file_lock.h"
#include "run/recovery/recovery.h"
#include "run/recovery/run_process.h"

namespace dlhost::run {

struct Leader {
  std::string host = {}; // as the run calls its machine; empty: nobody leads it
  int process = 0;
  std::vector<RunProcess> workers = {}; // from the second on
  Recovery::Past past;
  std::string mark = {};
  std::string membership = {}; // empty: nobody came from elsewhere
};

class Leadership {
 public:
  // Code::exists: another does, and the message says who. From then on this process is told of, without workers.
  // Whose run it is stays as it was where nothing is said of it.
  // `before`: done once it is held, and before anybody is told of it.
  static Result<Leadership> take(Disk&, const std::string& run, const std::string& host,
                                 const std::string& membership = {}, const std::function<Status()>& before = nullptr);
  // As soon as nobody else does: whoever is out may yet have to notice. Code::exists: it does not come to that.
  static Result<Leadership> await(Disk&, Clock&, const std::string& run, const std::string& host,
                                  const std::string& membership, Nanoseconds limit);
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
  Leadership(Disk& disk, const std::string& run, env::FileLock lock, std::string mark, std::string membership)
      : disk_(&disk), run_(run), lock_(std::move(lock)), mark_(std::move(mark)), membership_(std::move(membership)) {}

  Disk* disk_;
  std::string run_;
  env::FileLock lock_;
  std::string mark_, membership_;
};

} // namespace dlhost::run
