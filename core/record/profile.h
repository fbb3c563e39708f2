// Where the time of a step goes: by layer and direction, with the share of what the machine can do. Filled by whoever
// measured; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/trace.h"

namespace dlhost::record {

// What one layer (or updater, or connector) did in one direction, over all measured steps.
struct ProfileRow {
  std::string name;      // "conv1"
  std::string type;      // "convolution"
  std::string direction; // "forward", "backward to inputs", "update"
  double seconds = 0;
  std::uint64_t calls = 0;
  double operations = 0; // floating-point operations of all calls; 0: not known, or none to speak of
  double bytes = 0;      // read and written by all calls; 0: not known
  double floor = 0;      // seconds that all calls would take at the rates that were measured; 0: not known
};

struct Profile {
  std::vector<ProfileRow> rows; // in the order in which they ran
  std::uint64_t steps = 0;
  double seconds = 0; // of the steps, from beginning to end: what no row took is shown as the rest
  // A second, as measured on this machine with the threads of the run; 0: not measured.
  double peak_operations = 0, peak_bytes = 0;
};

// Sets each row's floor: its operations or its bytes at the rates that were measured, whichever takes longer.
void set_floors(Profile&);

// Sorted by time, the longest first; then sums by direction, and the rest.
std::string profile_table(const Profile&);
// The same for programs: {"steps", "seconds_per_step", "peak_operations_per_second", "rows": [{"name", "type",
// "direction", "milliseconds", "share_of_step", "calls_per_step", "gigaflops", "share_of_peak",
// "gigabytes_per_second", "floor_milliseconds"}], "directions": [...], "rest_milliseconds"}. What is not known is null.
std::string profile_json(const Profile&);

// The mean step for a trace: each row as long as it took on average, one after the other.
std::vector<TraceEvent> mean_step(const Profile&);

} // namespace dlhost::record
