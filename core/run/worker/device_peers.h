// Workers that have all params for themselves: their devices sum the gradients of each step. Before the first step all
// workers get the leader's values.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "param/table/device_sums.h"
#include "run/worker/liveness.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class DevicePeers {
 public:
  // `stopped`: the leader has stopped the run; read during waits.
  DevicePeers(WorkerEnds& ends, Liveness& liveness, const bool& stopped)
      : ends_(ends), liveness_(liveness), stopped_(stopped) {}
  // The leader's: the key by which the others' devices find its own.
  Result<std::string> convened() const;
  Status join();
  Peers& peers() { return *peers_; }
  // As param::DeviceSums::wait_for_device().
  Status wait(const std::function<Result<bool>()>& done);
  // All workers get the leader's values and histories.
  Status spread_params(param::DeviceSums&);

 private:
  bool all_wait_for_sums() const;

  WorkerEnds& ends_;
  Liveness& liveness_;
  const bool& stopped_;
  std::unique_ptr<Peers> peers_;
};

} // namespace dlhost::run
