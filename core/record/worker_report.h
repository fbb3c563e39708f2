// Where one of several workers is, and where the time of its steps went.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "record/traffic.h"

namespace dlhost::record {

struct WorkerReport {
  std::uint64_t steps = 0; // done
  double seconds = 0;      // of them, in all
  double input = 0;        // of those, waiting for data, or reading it
  double params = 0;       // bringing params and gradients into the form that is wanted: working copies, codecs
  double serving = 0;      // as a server: sums of contributions, updates, answers
  double waiting = 0;      // for others, with nothing to serve
  Freight network;
  std::optional<Freight> each_step; // of the network, where it is the same in each
  std::string awaits;               // the param that it waits for; empty: none

  double computing() const { return std::max(0.0, seconds - input - params - serving - waiting); }
};

nlohmann::ordered_json json_of(const WorkerReport&); // without the param that it waits for

} // namespace dlhost::record
