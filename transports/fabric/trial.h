// Measures a provider's speed on this machine: two endpoints in this process, each with its own task.
#pragma once

#include <string>

#include <dlhost/host.h>

namespace dlhost::plugins::fabric {

struct Speed {
  double latency = 0;          // seconds, one way, of 64 bytes
  double bytes_per_second = 0; // with messages of one MiB
  // Smaller is better; compares latency and bandwidth together.
  double cost() const { return latency / bytes_per_second; }
};

// Takes about `span`; gives up after one more second without progress. Verifies every message.
Result<Speed> try_out(Host&, const std::string& provider, const std::string& at, Nanoseconds span);

} // namespace dlhost::plugins::fabric
