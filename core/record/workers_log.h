// workers.jsonl of a run folder: the state of each of several workers, a line about every second. The leader writes it,
// on one task; `dlhost top` reads its end. A file that grows too long is replaced.
//
//   {"seconds":12.5,"step":400,"workers":[{"steps":300,"seconds":11.5,"computing":9.25,"input":0.0,"params":0.5,
//    "serving":1.5,"waiting":0.25,"awaits":"param 'fc1.weight' on worker 1, its server","at":400,"stale":0,"made":400},
//    ...]}
//
// `steps`: those within its `seconds`; `at`: the worker's step in the run; `made`: the newest version of the worker's
// own server, if it has one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "record/run_folder.h"
#include "record/worker_report.h"

namespace dlhost::record {

struct WorkersReport {
  double seconds = 0; // by the leader's clock, whose zero is arbitrary
  std::uint64_t step = 0;
  std::vector<WorkerReport> workers;
};

class WorkersLog {
 public:
  static Result<std::unique_ptr<WorkersLog>> open(Host&, const RunFolder&);
  bool due(); // a second after the last line
  Status add(std::uint64_t step, std::vector<WorkerReport>);

  // The last two reports, the newer one last; fewer if the file has fewer.
  static std::vector<WorkersReport> newest(Disk&, const std::string& run);

 private:
  WorkersLog(Host& host, std::string path) : host_(host), path_(std::move(path)) {}
  Status begin_anew();

  Host& host_;
  std::string path_;
  std::unique_ptr<LogFile> lines_;
  std::size_t bytes_ = 0;
  Nanoseconds next_ = 0;
};

} // namespace dlhost::record
