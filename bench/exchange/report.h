// What was measured, for people and for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlhost::bench {

struct Row {
  std::size_t bytes = 0;
  double seconds = 0;      // of one exchange: of many in a row, their middle
  double p50 = 0, p99 = 0; // of single ones
};

// One sync among so many nodes: the best of each row of all turns.
struct Curve {
  std::string sync;
  std::uint32_t nodes = 0;
  std::vector<Row> rows; // by size

  void take(const Row&);
  // What would go through each node's link if each had to send and take its part once and no more, over the time.
  double bytes_per_second(const Row&) const;
};

std::string as_text(const std::vector<Curve>&);
std::string as_json(const std::vector<Curve>&); // a line for each row
std::string as_csv(const std::vector<Curve>&);
// Time by size, a plot for each number of nodes; an SVG.
std::string as_picture(const std::vector<Curve>&);

} // namespace dlhost::bench
