// The first pass of a build: prepares every layer for its place in the net. A layer says in which forms it reads and
// gives tensors; links convert between neighbours, and an op takes the layers after it into its epilogue if it can.
//
// Output: the units, with their slots of frame 0. Thread: one.
#pragma once

#include <vector>

#include "program/build/bridges.h"
#include "program/build/build.h"
#include "program/build/fusions.h"
#include "program/build/links.h"

namespace dlhost::program {

class UnitBuilder {
 public:
  // All outlive it.
  UnitBuilder(const BuildRequest&, Slots&, Links&, Bridges&);

  // Prepares the layers, in the order of the net. Errors: those of a layer, with its name.
  Result<std::vector<Unit>> build();

 private:
  Status prepare(std::size_t node);
  void note_inputs(Unit&);
  param::Declaration declaration_of(const net::ParamUse&, const Shape&) const;
  Status declare_idle(const net::Node&);
  Status declare(Unit&);
  Status prepare_source(Unit&);
  Status prepare_view(Unit&);
  Status prepare_layer(Unit&);
  Preparation::Context context_of(const Unit&) const;
  // Offers a fusion to the producer. Returns the slot of the addend; no_slot: nothing is added.
  SlotId offer(const net::Fusion&, Unit&, Preparation::Context&) const;
  Status check(const Unit&, const Preparation&) const;
  Status make_outputs(Unit&, const Preparation&);
  Status settle_epilogue(Unit&, const Preparation&, SlotId addend);
  void make_buffers(Unit&);
  void keep(const Unit&);
  bool is_delivered(std::size_t source, std::size_t output) const;
  bool adds_to_others(std::size_t node, std::size_t input) const;
  SlotId source_of(std::size_t node, std::size_t input) const;

  const BuildRequest& request_;
  const std::vector<net::Node>& nodes_;
  Slots& slots_;
  Links& links_;
  Bridges& bridges_;
  const Fusions fusions_;
  std::vector<Unit> units_;
  std::vector<std::vector<SlotId>> outputs_; // by node
};

} // namespace dlhost::program
