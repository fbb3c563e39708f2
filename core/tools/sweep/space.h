// What a sweep tries: keys of a job, and the values that each may have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::tools {

struct Varied {
  std::string key;
  std::vector<std::string> values; // as they stand in --set; empty: a range
  double from = 0, to = 0;
  bool whole = false; // only whole numbers of the range
};

// "updater.rate=0.1,0.03" or "layer.hidden.units=64..512".
Result<Varied> parse_varied(const std::string& text);

// What is set in each trial, KEY=VALUE for each key: every combination of the values; or `random` draws, each of its
// own part of the seed. A range is drawn from evenly, or by its logarithm where its end is ten times its beginning or
// more.
Result<std::vector<std::vector<std::string>>> trials_of(const std::vector<Varied>&, std::size_t random,
                                                        std::uint64_t seed);

} // namespace dlhost::tools
