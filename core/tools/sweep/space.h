// The search space of a sweep: keys of a job and their values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::tools {

struct Varied {
  std::string key;
  std::vector<std::string> values; // as in --set; empty: a range
  double from = 0, to = 0;
  bool whole = false; // only integers of the range
};

// Parses "updater.rate=0.1,0.03" or "layer.hidden.units=64..512".
Result<Varied> parse_varied(const std::string& text);

// The settings of each trial as KEY=VALUE: all combinations of the values; or `random` draws, each with its own part of
// the seed. Draws from a range are uniform, or uniform in the logarithm if its end is at least ten times its beginning.
Result<std::vector<std::vector<std::string>>> trials_of(const std::vector<Varied>&, std::size_t random,
                                                        std::uint64_t seed);

} // namespace dlhost::tools
