// Processes of a run that have taken the place of others while the rest went on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlhost::record {

struct Replacement {
  std::vector<std::uint32_t> workers;
  std::string why;               // which of them was gone first, and how it ended
  std::uint64_t step = 0;        // of the run's leader, then
  double seconds = 0;            // until others made their steps
  std::uint64_t others_made = 0; // steps, meanwhile
  double others_stood = 0;       // seconds, because of it
};

} // namespace dlhost::record
