// Which part of each layer each worker of a group computes, and what goes between them in a step. Resolved once from
// the net at the group's whole batch; only read afterwards. Computes nothing.
//
//   layer       the declared splits and the job's schemes give its pieces, these the forms of its tensors
//   connector   an output whose readers want it in another form: moves of features, and of their gradients
//   param       summands of its gradient become one sum, wherever the value is read
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/job.h"
#include "config/problems.h"
#include "net/graph.h"
#include "net/moves.h"
#include "net/part.h"
#include "net/pieces.h"

namespace dlhost::plan {

// What goes from worker to worker in a step, in bytes. Copies within a worker do not count.
struct Crossing {
  std::vector<std::int64_t> sent, received; // by worker
  std::int64_t total = 0;

  explicit Crossing(std::uint32_t workers = 0) : sent(workers), received(workers) {}
  void add(const std::vector<net::Move>&, std::size_t element_bytes);
  void add(const Crossing&);
};

struct LayerPart {
  std::string scheme; // "batch", "features", "batch x height", "none"; with " on 0 and 2" if only some compute it
  net::Pieces pieces;
};

struct Connector {
  std::string name; // "gather"
  net::Edge source;
  std::vector<net::Reader> readers;
  net::Form from, to;                   // of the features
  net::Form gradient_from, gradient_to; // of their gradients
  bool learns = false;                  // gradients are wanted
  std::vector<net::Move> feature_moves, gradient_moves;
  Crossing crossing;
};

struct ParamPart {
  std::string name;
  net::Form gradient, value; // of its first use
  std::vector<net::Move> moves;
  Crossing crossing;
};

// By node. Errors go to `problems`, with the layer's place. `rows`: the bounds of each worker's rows. Requires: the net
// was built at the batch that they divide.
std::optional<std::vector<LayerPart>> layer_parts(const net::Graph&, const config::Job&,
                                                  const std::vector<std::int64_t>& rows, config::Problems&);
// The part of each node that a worker of the group computes. Requires: the net is the one that was divided.
std::vector<net::NodePart> node_parts(const net::Graph&, const std::vector<LayerPart>&, std::uint32_t rank);

struct Partition {
  // layer_parts(), and what goes between the parts.
  static std::optional<Partition> of(const net::Graph&, const config::Job&, const std::vector<std::int64_t>& rows,
                                     config::Problems&);

  std::vector<LayerPart> layers; // by node
  std::vector<Connector> connectors;
  std::vector<ParamPart> params;
  Crossing features, param_bytes;
};

} // namespace dlhost::plan
