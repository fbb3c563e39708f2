// The second pass of a build: follows the recorded visits and makes the steps of the program. A gradient visit of a
// reader contributes a tensor to the features that it read; the producer's visit sums its contributions. So each tensor
// of a step is written once, and a sum or an in-place layer reuses memory exactly when the old content has no more
// readers.
//
// Output: the steps with their calls, and the slots of all frames with their lives. Thread: one.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "program/build/build.h"
#include "program/build/feature_gradients.h"
#include "program/build/param_gradients.h"
#include "program/build/transfers.h"

namespace dlhost::program {

// The steps of a program, before their slots have places.
struct ExpandedSteps {
  UnitFrames frames;
  std::vector<Step> steps;
  std::vector<Call> calls;
  std::vector<std::unique_ptr<Op>> ops; // of the calls, and of the borrowings
  std::vector<Loan> loans;
  std::vector<Borrowing> borrowings;
  LentMemory lent;
  std::vector<Replacement> replacements;
  std::vector<param::Param*> updated; // in the order of their updates
};

class Expansion {
 public:
  // All outlive it. `slots` has the slots of frame 0.
  Expansion(const BuildRequest&, const std::vector<Unit>&, const std::vector<Link>&, const Bridges&, Slots&);

  // Errors: a layer learns without a loss, or the algorithm asks for what no frame holds.
  Result<ExpandedSteps> run();

 private:
  Status add(const Visit&);
  void add_collect(std::size_t node);
  Status add_feature(const Visit&);
  void add_computing(const Unit&, const Visit&);
  void add_arrival(const Unit& source);
  void add_links(SlotId from, int frame);
  const std::vector<bool>& reach(const Visit&);
  Status add_gradient(const Visit&);
  Result<bool> contribute_to_inputs(const Unit&, const Visit&);
  void touch_gradient(const Unit&, const UnitFrame&, Wanted);

  const BuildRequest& request_;
  const std::vector<Unit>& units_;
  const std::vector<Link>& links_;
  Slots& slots_;
  UnitFrames frames_;
  StepList steps_;
  TensorOps ops_;
  Contributions contributions_;
  FeatureGradients features_;
  Transfers transfers_;
  ParamGradients params_;
  std::set<std::tuple<std::size_t, std::size_t, int>> reached_; // outputs of nodes, in a frame, whose gradient is next
  std::map<std::pair<std::size_t, int>, std::vector<bool>> outputs_reached_; // by node and frame, since its gradient
};

} // namespace dlhost::program
