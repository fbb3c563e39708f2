// Checks that a job fits into memory: after everything is laid out and before it is allocated, so that the system does
// not kill the run without a message. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::run {

// Memory that a program and everything with it needs, on the host or on a device.
struct MemoryNeed {
  struct Part {
    std::string what; // example: "params of layer 'fc1', with updater state"
    std::uint64_t bytes = 0;
  };
  std::vector<Part> parts;
  std::uint64_t total = 0;
  std::uint64_t by_batch = 0; // the part that grows with the batch
  std::uint64_t shared = 0;   // the part that several workers share
  std::string of = {};        // the memory, if it is not the machine's: "the memory of device 'cuda'"
};

// The additional needs of several workers. The params, which they share, are in `together`.
struct SharedNeed {
  std::uint64_t workers = 1;
  std::uint64_t each = 0;     // of one worker, in memory that all see
  std::uint64_t together = 0; // of all workers together: the params
  std::uint64_t summed = 0;   // not shared: the servers' buffers for decoding and folding, all together
};
MemoryNeed several(MemoryNeed one, const SharedNeed&);

// Errors: too little memory; names the largest parts and the largest batch that fits. `batch_key`: the job's key of
// `batch`.
Status check_room(const MemoryNeed&, std::uint64_t available, const std::string& batch_key, std::int64_t batch);
// The same for shared memory; `place` names where it lies.
Status check_shared_room(const MemoryNeed&, std::uint64_t free, const std::string& place);

} // namespace dlhost::run
