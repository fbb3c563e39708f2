// The tensors at which workers of a group meet: for each connector, the worker's box of the source and its box of what
// the readers want. Both are plain; links convert them for the layers.
//
// Output: slots of frame 0. Thread: one.
#pragma once

#include <vector>

#include "program/build/build.h"
#include "program/build/links.h"

namespace dlhost::program {

struct Bridge {
  SlotId made = no_slot, wanted = no_slot; // no_slot: this worker has none
};

class Bridges {
 public:
  // All outlive it.
  Bridges(const BuildRequest&, Slots&, Links&);

  // Makes the slots of a node's connectors. `outputs`: its slots; empty if this worker does not compute it.
  Status make(std::size_t node, const std::vector<SlotId>& outputs);
  // The connector of an input; null: its source has the reader's form.
  const plan::Connector* connector(std::size_t node, std::size_t input) const;
  // Requires: the input has a connector, and its source is made.
  SlotId wanted(std::size_t node, std::size_t input) const { return all_[number_[node][input]].wanted; }

  // By connector.
  const std::vector<Bridge>& all() const { return all_; }
  // The connectors of a node's outputs, and those of its inputs.
  std::vector<std::size_t> of_outputs(std::size_t node) const;
  std::vector<std::size_t> of_inputs(std::size_t node) const;

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  const BuildRequest& request_;
  Slots& slots_;
  Links& links_;
  std::vector<Bridge> all_;
  std::vector<std::vector<std::size_t>> number_; // of the connector, by node and input
};

} // namespace dlhost::program
