// A worker's progress, and the use of its time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "record/traffic.h"

namespace dlhost::record {

struct WorkerReport {
  std::uint64_t steps = 0; // done since the crew of workers started or resumed
  double seconds = 0;      // total duration of these steps
  double input = 0;        // part of it: waiting for data, or reading it
  double params = 0;       // converting params and gradients: working copies, codecs
  double serving = 0;      // as a server: sums of contributions, updates, answers
  double waiting = 0;      // for others, with nothing to serve
  Freight network;
  std::optional<Freight> each_step;  // network bytes of a step, if all steps have the same
  std::uint64_t own_bytes = 0;       // peak private memory of its process; 0: it shares the process with others
  std::uint64_t lent_bytes = 0;      // memory that it made for others to use as well
  std::string awaits;                // what it waits for, and from which worker; empty: nothing
  std::uint64_t at = 0;              // its present step in the run
  std::uint64_t stale = 0;           // versions that its server has made since the one it computes with
  std::optional<std::uint64_t> made; // the newest version of its own server; none: it has no server

  double computing() const { return std::max(0.0, seconds - input - params - serving - waiting); }
};

nlohmann::ordered_json json_of(const WorkerReport&); // without the momentary members from `awaits` on

} // namespace dlhost::record
