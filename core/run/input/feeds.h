// The feeders of all sources of one program: a batch for each of its steps, on the device where the host cannot reach
// its memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "program/program.h"
#include "run/input/delivery.h"
#include "run/input/feeder.h"
#include "run/session/session.h"

namespace dlhost::run {

// How the batches of a program are read, but for which samples, and for whom.
FeederSpec reading(const config::Job&, const program::Program&);

class Feeds {
 public:
  static Result<std::unique_ptr<Feeds>> make(Session&, const program::Program&, Phase, std::int64_t batch,
                                             std::uint64_t end = std::numeric_limits<std::uint64_t>::max());

  // Valid until the next call, which comes when all that reads it has been given to the session's stream.
  Result<const program::BatchView*> next();
  Status seek(std::uint64_t step);
  // Of each source, from where its steps are counted: seek() comes next. None: from its beginning.
  Status move(std::span<const SampleOrigin> origins);
  std::vector<SampleOrigin> origins() const;
  // What a checkpoint keeps of it, when so many steps are done; and, of a run that goes on with that, where its steps
  // are counted from: where they were, or, if a step takes other samples than there, from here on.
  nlohmann::json state(std::uint64_t step) const;
  bool reads_as(const nlohmann::json& state) const; // each step the same samples as there
  std::vector<SampleOrigin> origins(const nlohmann::json& state, std::uint64_t step) const;

  const Sampling& sampling() const { return feeders_[0]->sampling(); } // the first source's
  std::uint32_t epoch() const { return epoch_; }                       // of the batch that next() gave last
  std::int64_t valid(std::uint64_t step) const { return sampling().batch_valid(step); } // of all workers
  double epochs(std::uint64_t steps) const { return sampling().epochs(steps); }
  std::uint64_t steps(double epochs) const { return sampling().steps(epochs); }
  Nanoseconds waited() const;
  const std::vector<const Session::OpenSource*>& sources() const { return sources_; }

 private:
  Status add(Session&, const program::Program&, std::size_t node, const Session::OpenSource&, const FeederSpec&);
  Result<const Batch*> next(std::size_t source);
  Status halt();

  std::vector<std::unique_ptr<Feeder>> feeders_;
  std::vector<std::unique_ptr<Delivery>> deliveries_; // of each; null: the device reads host memory, or none of this
  std::vector<const Session::OpenSource*> sources_;   // of each
  program::BatchView view_;
  std::uint32_t epoch_ = 0;
};

} // namespace dlhost::run
