// Whether a job fits into the memory that is there: counted after all is laid out, before anything of it is made, so
// that no run is ended by the system without a word. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::run {

// What a program and all that goes with it takes of the host's memory, or of a device's.
struct MemoryNeed {
  struct Part {
    std::string what; // "params of layer 'fc1' and what the updater keeps of them"
    std::uint64_t bytes = 0;
  };
  std::vector<Part> parts;
  std::uint64_t total = 0;
  std::uint64_t by_batch = 0; // of it, what grows with the batch
  std::uint64_t shared = 0;   // of it, what several workers share
  std::string of = {};        // what memory, where not the machine's: "the memory of device 'cuda'"
};

// What several workers take, each what one takes: the params, which they share, aside.
struct SharedNeed {
  std::uint64_t workers = 1;
  std::uint64_t each = 0;     // of a worker, but all see it
  std::uint64_t together = 0; // of all
  std::uint64_t summed = 0;   // not shared: what servers decode or fold into, in all
};
MemoryNeed several(MemoryNeed one, const SharedNeed&);

// Not ok: what takes most, and the largest batch that fits. `batch_key` is the key of the job that says `batch`.
Status check_room(const MemoryNeed&, std::uint64_t available, const std::string& batch_key, std::int64_t batch);
// The same of what is shared, and where it has to lie.
Status check_shared_room(const MemoryNeed&, std::uint64_t free, const std::string& place);

} // namespace dlhost::run
