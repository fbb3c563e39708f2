// The results, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "line.h"
#include "measure.h"

namespace dlhost::bench {

// The rows of one transport, each the best over all turns.
struct Measured {
  LineKind kind;
  std::vector<Row> rows; // by size

  void take(const std::vector<Row>& again);
  // The row of libfabric's own endpoint with the same provider, for comparison; null if not measured.
  static const Row* peer_of(const Measured&, const Row&, const std::vector<Measured>& all);
};

std::string as_text(const std::vector<Measured>&);
std::string as_json(const std::vector<Measured>&); // a line for each row
std::string as_csv(const std::vector<Measured>&);
// Latency and bandwidth by size, a curve for each transport; an SVG.
std::string as_picture(const std::vector<Measured>&);

} // namespace dlhost::bench
