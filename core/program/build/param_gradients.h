// The gradients of params. All frames, sweeps and layers that share a param contribute to its gradient; when the last
// contribution of a step is added, the param can be updated.
//
// Owns: the sums so far, and the numbers of the updates. Thread: one.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "program/build/build.h"
#include "program/build/contributions.h"

namespace dlhost::program {

class ParamGradients {
 public:
  // All outlive it. `contributions` is used if params are shared.
  ParamGradients(const BuildRequest&, const std::vector<Unit>&, UnitFrames&, Slots&, StepList&, TensorOps&,
                 Contributions&);

  // The slots for the gradients that a unit computes in a frame, made if there are none: a later sweep uses the same.
  // Returns false if the unit computes none.
  bool make_slots(const Unit&, int frame);
  // Adds the gradients that a visit has computed.
  Status add(const Visit&);
  // Sends the factors of those gradients that the unit does not compute.
  Status add_factors(const Visit&);
  // Adds the updates of a unit's params whose gradients are complete.
  void update(const Unit&);
  // The params, in the order of their updates.
  const std::vector<param::Param*>& updated() const { return updated_; }

 private:
  const BuildRequest& request_;
  const std::vector<Unit>& units_;
  UnitFrames& frames_;
  Slots& slots_;
  StepList& steps_;
  TensorOps& ops_;
  Contributions& contributions_;
  std::map<std::pair<std::size_t, int>, int> visits_; // gradient calls for params, by node and frame
  std::map<param::Param*, int> awaited_;              // contributions still missing
  std::map<param::Param*, SlotId> sums_;
  std::vector<param::Param*> updated_;
};

} // namespace dlhost::program
