// The time of a step by layer and direction, with the share of the machine's peak. The caller measures; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/trace.h"

namespace dlhost::record {

// The work of one layer (or updater, or connector) in one direction, over all measured steps.
struct ProfileRow {
  std::string name;      // "conv1"
  std::string type;      // "convolution"
  std::string direction; // "forward", "backward to inputs", "update"
  double seconds = 0;
  std::uint64_t calls = 0;
  double operations = 0; // floating-point operations of all calls; 0: unknown or negligible
  double bytes = 0;      // bytes read and written by all calls; 0: unknown
  double floor = 0;      // seconds for all calls at the measured peak rates; 0: unknown
};

struct Profile {
  std::vector<ProfileRow> rows; // in the order of execution
  std::uint64_t steps = 0;
  double seconds = 0; // duration of all steps; time that no row took is shown as the rest
  // Per second, measured on this machine with the run's threads; 0: not measured.
  double peak_operations = 0, peak_bytes = 0;
};

// Sets each row's floor: the longer of the times for its operations and its bytes at the measured rates.
void set_floors(Profile&);

// Rows sorted by time, longest first; then sums by direction, and the rest.
std::string profile_table(const Profile&);
// The same as JSON: {"steps", "seconds_per_step", "peak_operations_per_second", "rows": [{"name", "type", "direction",
// "milliseconds", "share_of_step", "calls_per_step", "gigaflops", "share_of_peak", "gigabytes_per_second",
// "floor_milliseconds"}], "directions": [...], "rest_milliseconds"}. Unknown values are null.
std::string profile_json(const Profile&);

// The mean step as a trace: the rows one after the other, each with its mean duration.
std::vector<TraceEvent> mean_step(const Profile&);

} // namespace dlhost::record
