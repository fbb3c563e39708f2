// The position of a run while all workers stand still: the steps that are in the values, and the versions of all
// slices. A run that is saved now continues from there. The leader's.
#pragma once

#include <cstdint>
#include <vector>

#include "run/worker/alignment.h"
#include "run/worker/lost_groups.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class Position {
 public:
  Position(WorkerEnds& ends, const LostGroups& lost, const Alignment& alignment)
      : ends_(ends), lost_(lost), alignment_(alignment) {}
  // If groups are chosen for whole steps: asks which of their steps are decided.
  Status ask_for_undecided();
  Status hear_undecided(std::uint32_t from, const param::to_worker::Undecided&);
  // Writes the position to RunSteps::reached.
  Status find();

 private:
  WorkerEnds& ends_;
  const LostGroups& lost_;
  const Alignment& alignment_;
  std::vector<std::uint64_t> undecided_; // of each group the first step that is not decided yet; empty: not asked
  std::size_t unanswered_ = 0;           // groups that have not answered that
};

} // namespace dlhost::run
