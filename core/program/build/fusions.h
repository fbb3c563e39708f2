// The layers that another layer's op computes in its epilogue. The net offers fusions; each is settled when its
// producer has been prepared, because the layer and the device may refuse. Thread: one.
#pragma once

#include <string>
#include <vector>

#include "net/fusion.h"
#include "program/build/bridges.h"
#include "program/build/preparation.h"

namespace dlhost::program {

class Fusions {
 public:
  // Without any fusion.
  explicit Fusions(const net::Graph& graph) : graph_(graph), of_(graph.nodes().size()) {}
  // Those that this worker computes as one. Outputs that are read after a step must be made, so their layers are not
  // fused away.
  Fusions(const BuildRequest&, const Bridges&);

  // The fusion that is offered to this producer; null: none.
  const net::Fusion* of(std::size_t producer) const { return of_[producer] ? &*of_[producer] : nullptr; }
  // Notes in the unit of a producer whether its op has taken the layers, or why not. Returns true if it has.
  bool settle(Unit&, const Preparation&) const;

 private:
  const net::Graph& graph_;
  bool looked_ = false; // for fusions; else no unit gets a remark
  bool training_ = false;
  std::vector<std::optional<net::Fusion>> of_; // by producer
};

} // namespace dlhost::program
