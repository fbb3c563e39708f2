// The record of an algorithm that ran once against a recording view: the visits of one step, in order.
#pragma once

#include <memory>
#include <vector>

#include <dlhost/algorithm.h>

#include "net/graph.h"

namespace dlhost::program {

struct Visit {
  enum class Kind : std::uint8_t { collect, feature, gradient, update } kind = Kind::feature;
  std::size_t node = 0;
  int frame = 0;
  std::uint32_t sweep = 0;
  Wanted wanted = Wanted::both;
  float sign = 1;
};

struct Record {
  std::vector<Visit> visits;
  int frames = 1;
  bool cut = false; // each frame gets its part of the batch
};

// Runs the algorithm once over the net. Errors: a fault of the algorithm (an update without a gradient, a feature
// without its input), with its name.
Result<Record> record(Algorithm&, std::string_view algorithm_name, const net::Graph&);

// The features of all nodes in order, for evaluation.
Record record_features(const net::Graph&);

} // namespace dlhost::program
