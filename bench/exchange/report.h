// The results, for people and for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlhost::bench {

struct Row {
  std::size_t bytes = 0;
  double seconds = 0;      // of one exchange: the mean of a row of them
  double p50 = 0, p99 = 0; // of single exchanges
};

// One sync among `nodes` nodes: the best of each row over all turns.
struct Curve {
  std::string sync;
  std::uint32_t nodes = 0;
  std::vector<Row> rows; // by size

  void take(const Row&);
  // The bytes through each node's link per second, as if each node sent and received its part exactly once.
  double bytes_per_second(const Row&) const;
};

std::string as_text(const std::vector<Curve>&);
std::string as_json(const std::vector<Curve>&); // a line for each row
std::string as_csv(const std::vector<Curve>&);
// Time by size, a plot for each number of nodes; an SVG.
std::string as_picture(const std::vector<Curve>&);

} // namespace dlhost::bench
