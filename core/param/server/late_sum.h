// The weighted sum of contributions to a slice that no version waits for. It lies in the server's own memory, so that
// the senders may overwrite theirs. It goes into the next version beside the contributions that make it, or into the
// present version when the run pauses. After make() nothing is allocated.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "param/server/ledger.h"
#include "param/store/store.h"

namespace dlhost::param {

class LateSum {
 public:
  // For slices of `elements` elements and at most `most` contributions at once.
  static Result<std::unique_ptr<LateSum>> make(Store&, std::int64_t elements, std::size_t most);

  // The gradient may be overwritten when it returns. `rate`: the schedule's rate of the contribution's step.
  Status add(const float* gradient, float weight, const Ledger::Part&, double rate);
  void clear() {
    parts_.clear();
    weight_ = 0;
  }

  bool empty() const { return parts_.empty(); }
  const float* sum() const { return reinterpret_cast<const float*>(sum_.data()); }
  float weight() const { return weight_; } // of all together
  double rate() const { return rate_; }    // of the last one
  std::span<const Ledger::Part> parts() const { return parts_; }

 private:
  explicit LateSum(Store& store) : store_(store) {}

  Store& store_;
  std::unique_ptr<Op> first_, next_; // for the first contribution, and for the following
  Memory sum_, scratch_;
  std::vector<Ledger::Part> parts_;
  float weight_ = 0;
  double rate_ = 0;
};

} // namespace dlhost::param
