// The feeders of all sources of one program: a batch for each of its steps.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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
  // Of each source, from where its steps are counted: seek() comes next. None: from its beginning.
  void move(std::span<const Origin> origins);
  std::vector<Origin> origins() const;
  // What a checkpoint keeps of it, when so many steps are done; and, of a run that goes on with that, where its steps
  // are counted from: where they were, or, if a step takes other samples than there, from here on.
  nlohmann::json state(std::uint64_t step) const;
  bool reads_as(const nlohmann::json& state) const; // each step the same samples as there
  std::vector<Origin> origins(const nlohmann::json& state, std::uint64_t step) const;

  const Sampling& sampling() const { return feeders_[0]->sampling(); } // the first source's
  std::uint32_t epoch() const { return epoch_; }                       // of the batch that next() gave last
  std::int64_t valid(std::uint64_t step) const { return sampling().batch_valid(step); } // of all workers
  double epochs(std::uint64_t steps) const { return sampling().epochs(steps); }
  std::uint64_t steps(double epochs) const { return sampling().steps(epochs); }
  Nanoseconds waited() const;

 private:
  std::vector<std::unique_ptr<Feeder>> feeders_;
  std::vector<std::string> names_; // of their sources
  program::BatchView view_;
  std::uint32_t epoch_ = 0;
};

} // namespace dlhost::run
