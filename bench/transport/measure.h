// One transport, measured between two sides that have a channel: latency and bandwidth for messages of each size.
#pragma once

#include <cstddef>
#include <vector>

#include "channel.h"
#include "line.h"

namespace dlhost::bench {

struct Row {
  std::size_t bytes = 0;
  double latency = 0;                    // seconds, one way: of many ways there and back in a row, their middle
  double latency_50 = 0, latency_99 = 0; // of single ways there and back, halved
  double bytes_per_second = 0;
};

struct Measurement {
  std::vector<std::size_t> sizes;
  double seconds = 1;   // for each size
  bool lasting = false; // messages until the time is over, and nothing else: others do the same meanwhile
};

// Both sides call it, the first with true.
std::vector<Row> converse(const LineKind&, bool first, const Measurement&, Channel&, const std::string& host);

} // namespace dlhost::bench
