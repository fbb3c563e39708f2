// How fast a provider is here: two endpoints of it, each with a task of its own, in this process.
#pragma once

#include <string>

#include <dlhost/host.h>

namespace dlhost::plugins::fabric {

struct Speed {
  double latency = 0;          // seconds, one way, of 64 bytes
  double bytes_per_second = 0; // in messages of a mebibyte
  // Smaller is better: of two providers, how much so the one is in both at once.
  double cost() const { return latency / bytes_per_second; }
};

// Takes about `span`; what does not get on is given up after a second more. Every message is looked at.
Result<Speed> try_out(Host&, const std::string& provider, const std::string& at, Nanoseconds span);

} // namespace dlhost::plugins::fabric
