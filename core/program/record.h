// What an algorithm did when it ran once against a recording view: the visits of one step, in order.
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
  bool cut = false; // each frame sees its part of the batch
};

// Runs the algorithm once over the net. What it does wrong (an update without a gradient, a feature of a node whose
// input was never made) is a Status that names the algorithm.
Result<Record> record(Algorithm&, std::string_view algorithm_name, const net::Graph&);

// Features of all nodes in order, and nothing else: evaluation.
Record record_features(const net::Graph&);

} // namespace dlhost::program
