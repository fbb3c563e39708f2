// What was measured, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "line.h"
#include "measure.h"

namespace dlhost::bench {

// One transport's rows, the best of each of all turns.
struct Measured {
  LineKind kind;
  std::vector<Row> rows; // by size

  void take(const std::vector<Row>& again);
  // How a row of ours compares with libfabric's own endpoint of the same provider, where that was measured.
  static const Row* peer_of(const Measured&, const Row&, const std::vector<Measured>& all);
};

std::string as_text(const std::vector<Measured>&);
std::string as_json(const std::vector<Measured>&); // a line for each row
std::string as_csv(const std::vector<Measured>&);
// Latency and bandwidth by size, a curve for each transport; an SVG.
std::string as_picture(const std::vector<Measured>&);

} // namespace dlhost::bench
