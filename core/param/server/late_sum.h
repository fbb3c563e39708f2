// Contributions to a slice that nobody waits for: their weighted sum, in memory of the server's own, so that who sent
// them may write the next. It goes into the next version beside those that make it, or into the one that is there
// when the run stands still. After make() nothing is allocated.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "param/server/ledger.h"
#include "param/store/store.h"

namespace dlhost::param {

class LateSum {
 public:
  // Of so many elements; of `most` contributions at once.
  static Result<std::unique_ptr<LateSum>> make(Store&, std::int64_t elements, std::size_t most);

  // What it was is read when it returns. `rate`: the schedule's, of its step.
  Status add(const float* gradient, float weight, const Ledger::Part&, double rate);
  void clear() {
    parts_.clear();
    weight_ = 0;
  }

  bool empty() const { return parts_.empty(); }
  const float* sum() const { return reinterpret_cast<const float*>(sum_.data()); }
  float weight() const { return weight_; } // of all
  double rate() const { return rate_; }    // of the last
  std::span<const Ledger::Part> parts() const { return parts_; }

 private:
  explicit LateSum(Store& store) : store_(store) {}

  Store& store_;
  std::unique_ptr<Op> first_, next_; // of what is added
  Memory sum_, scratch_;
  std::vector<Ledger::Part> parts_;
  float weight_ = 0;
  double rate_ = 0;
};

} // namespace dlhost::param
