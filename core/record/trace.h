// Writes time spans in rows as a file for Perfetto (ui.perfetto.dev) and Chrome's about:tracing, once, at the end. A
// run writes its mean step (mean_step in profile.h): that is no record of actual times.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <dlhost/host.h>

namespace dlhost::record {

struct TraceEvent {
  std::string name;      // "conv1"
  std::string category;  // "forward": Perfetto colours and filters by it
  Nanoseconds start = 0; // by the run's clock; the file counts from the earliest
  Nanoseconds duration = 0;
  std::uint32_t track = 0; // the row
};

// `tracks`: the names of the rows, such as "worker 0". Requires: events of one track are nested or disjoint.
Status write_trace(Disk&, const std::string& path, std::span<const TraceEvent>, std::span<const std::string> tracks,
                   const std::string& what = {});

} // namespace dlhost::record
