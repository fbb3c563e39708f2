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
  std::uint64_t steps = 0; // done since it began, or went on, in this crew
  double seconds = 0;      // of them, in all
  double input = 0;        // of those, waiting for data, or reading it
  double params = 0;       // bringing params and gradients into the form that is wanted: working copies, codecs
  double serving = 0;      // as a server: sums of contributions, updates, answers
  double waiting = 0;      // for others, with nothing to serve
  Freight network;
  std::optional<Freight> each_step;  // of the network, where it is the same in each
  std::uint64_t own_bytes = 0;       // memory that its process had for itself at most; 0: others are in that process
  std::uint64_t lent_bytes = 0;      // that it made, for others to use as well
  std::string awaits;                // what it waits for, and on whom; empty: nothing
  std::uint64_t at = 0;              // the step of the run that it has come to
  std::uint64_t stale = 0;           // versions that its server has made since the one that it computes with
  std::optional<std::uint64_t> made; // by the server beside it: the newest version; none: there is no server

  double computing() const { return std::max(0.0, seconds - input - params - serving - waiting); }
};

nlohmann::ordered_json json_of(const WorkerReport&); // without what is true for a moment alone, from `awaits` on

} // namespace dlhost::record
