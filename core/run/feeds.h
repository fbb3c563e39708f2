// The feeders of all sources of one program: a batch for each of its steps.
#pragma once

#include <memory>
#include <vector>

#include "program/program.h"
#include "run/feeder.h"
#include "run/session.h"

namespace dlhost::run {

class Feeds {
 public:
  static Result<std::unique_ptr<Feeds>> make(Session&, const program::Program&, Phase, std::int64_t batch,
                                             std::uint64_t end = std::numeric_limits<std::uint64_t>::max());

  // Valid until the next call.
  Result<const program::BatchView*> next();
  void seek(std::uint64_t step);

  std::uint32_t epoch() const { return epoch_; } // of the batch that next() gave last
  std::int64_t valid(std::uint64_t step) const { return feeders_[0]->sampling().batch_valid(step); } // of all workers
  double epochs(std::uint64_t steps) const { return feeders_[0]->sampling().epochs(steps); }
  std::uint64_t steps(double epochs) const { return feeders_[0]->sampling().steps(epochs); }
  Nanoseconds waited() const;

 private:
  std::vector<std::unique_ptr<Feeder>> feeders_;
  std::vector<std::string> names_; // of their sources
  program::BatchView view_;
  std::uint32_t epoch_ = 0;
};

} // namespace dlhost::run
