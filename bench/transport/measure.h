// One transport, measured between two sides that have a channel: latency and bandwidth for messages of each size.
#pragma once

#include <cstddef>
#include <vector>

#include "channel.h"
#include "line.h"

namespace dlhost::bench {

struct Row {
  std::size_t bytes = 0;
  double latency = 0;                    // seconds, one way: the median over turns of many round trips
  double latency_50 = 0, latency_99 = 0; // of single round trips, halved
  double bytes_per_second = 0;
};

struct Measurement {
  std::vector<std::size_t> sizes;
  double seconds = 1;   // for each size
  bool lasting = false; // only sends messages until the time is over, while other pairs do the same
};

// Both sides call it; the first side with true.
std::vector<Row> converse(const LineKind&, bool first, const Measurement&, Channel&, const std::string& host);

} // namespace dlhost::bench
