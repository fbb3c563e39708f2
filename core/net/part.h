// A worker's part of a net: the shapes of the pieces that it computes. Programs are built from it, so a worker of many
// and the only worker are built alike. Thread: any.
#pragma once

#include <cstdint>
#include <vector>

#include <dlhost/partition.h>

#include "net/graph.h"

namespace dlhost::net {

struct NodePart {
  bool computes = true;                 // false: only other workers compute the node; nothing below is set
  std::int64_t first_row = 0, rows = 0; // of the batch
  std::vector<TensorDesc> outputs;      // plain
  std::vector<bool> counts;             // by output: no worker before this one makes the same, which metrics count once
  std::vector<Shape> params;
  std::vector<TensorDesc> buffers; // that setup declares; those of each sample have the piece's rows
  Piece piece;                     // its cuts along splits that the layer declares
};

// The whole of each node.
std::vector<NodePart> whole_parts(const Graph&);

} // namespace dlhost::net
