// Spans of time in rows, as a file that Perfetto (ui.perfetto.dev) and Chrome's about:tracing open. Whoever measures
// gathers them; they are written once, at the end. A run writes its mean step so (mean_step in profile.h), which is no
// record of what ran when.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <dlhost/host.h>

namespace dlhost::record {

struct TraceEvent {
  std::string name;      // "conv1"
  std::string category;  // "forward": Perfetto colours and filters by it
  Nanoseconds start = 0; // by the clock of the run; the file counts from the earliest
  Nanoseconds duration = 0;
  std::uint32_t track = 0; // the row that it is drawn in
};

// `tracks` names the rows: "worker 0". Events of one track lie inside or beside each other.
Status write_trace(Disk&, const std::string& path, std::span<const TraceEvent>, std::span<const std::string> tracks,
                   const std::string& what = {});

} // namespace dlhost::record
