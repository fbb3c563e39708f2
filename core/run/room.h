// Whether a job fits into the memory that is there: counted after all is laid out, before anything of it is made, so
// that no run is ended by the system without a word. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::run {

// What a program and all that goes with it takes of the host's memory.
struct Need {
  struct Part {
    std::string what; // "params of layer 'fc1' and what the updater keeps of them"
    std::uint64_t bytes = 0;
  };
  std::vector<Part> parts;
  std::uint64_t total = 0;
  std::uint64_t by_batch = 0; // of it, what grows with the batch
};

// Not ok: what takes most, and the largest batch that fits. `batch_key` is the key of the job that says `batch`.
Status check_room(const Need&, std::uint64_t available, const std::string& batch_key, std::int64_t batch);

} // namespace dlhost::run
