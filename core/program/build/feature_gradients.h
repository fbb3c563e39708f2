// The gradients of features. Each reader of a feature contributes a tensor, in the order of the record; the sum of the
// contributions is made when the feature's own layer needs it. A tensor is written once, unless a layer adds to it.
//
// Owns: the contributions that are not summed yet. Thread: one.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "program/build/tensor_ops.h"
#include "program/unit.h"

namespace dlhost::program {

class FeatureGradients {
 public:
  // All outlive it.
  FeatureGradients(const std::vector<Link>& links, UnitFrames& frames, Slots& slots, StepList& steps, TensorOps& ops)
      : links_(links), frames_(frames), slots_(slots), steps_(steps), ops_(ops) {}

  // A unit's features are made again in this frame, so their gradients are too.
  void begin(std::size_t unit, int frame) { summed_.erase(frames_.index(unit, frame)); }
  // Sums the contributions to the outputs of a unit, once for each time that they are made.
  Status sum_outputs(std::size_t unit, int frame);
  // The slot for a unit's contribution to the gradient of an input: a new one, or the last contribution if the unit
  // adds to it.
  Result<SlotId> contribute(const Unit&, std::size_t input, SlotId feature);
  // A sum or a view contributes its own gradient to its inputs.
  Status pass_on(const Unit&, int frame);
  // The sum of the contributions to a feature, through its links too, which are none after that. no_slot: there are
  // none.
  Result<SlotId> sum(SlotId feature, int frame);
  // Contributes a tensor of the feature's form, which other steps may read.
  void add(SlotId feature, SlotId contribution) { contributions_[feature].push_back(contribution); }

 private:
  const std::vector<Link>& links_;
  UnitFrames& frames_;
  Slots& slots_;
  StepList& steps_;
  TensorOps& ops_;
  std::map<SlotId, std::vector<SlotId>> contributions_; // to the gradient of a feature slot, in any frame
  std::set<SlotId> sole_;                               // contributions with no other reader
  std::set<std::size_t> summed_;                        // unit frames whose output gradients are made
};

} // namespace dlhost::program
