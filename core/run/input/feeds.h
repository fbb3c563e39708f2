// The feeders of all sources of one program. They give a batch for each step, on the device if the host cannot reach
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

// The program's feeder settings, without phase, end and sampling.
FeederSpec reading(const config::Job&, const program::Program&);

class Feeds {
 public:
  static Result<std::unique_ptr<Feeds>> make(Session&, const program::Program&, Phase, std::int64_t batch,
                                             std::uint64_t end = std::numeric_limits<std::uint64_t>::max());

  // Valid until the next call. Requires: all ops that read the last batch are given to the session's stream.
  Result<const program::BatchView*> next();
  Status seek(std::uint64_t step);
  // Sets the origin of each source; empty: the beginning. Requires: seek() follows.
  Status move(std::span<const SampleOrigin> origins);
  std::vector<SampleOrigin> origins() const;
  // state(): the data position after `step` steps, for a checkpoint. origins(): the origins for a run that continues
  // from that state: the old ones, or new ones at `step` if steps take other samples now.
  nlohmann::json state(std::uint64_t step) const;
  bool reads_as(const nlohmann::json& state) const; // steps take the same samples as in the state
  std::vector<SampleOrigin> origins(const nlohmann::json& state, std::uint64_t step) const;

  const Sampling& sampling() const { return feeders_[0]->sampling(); }                  // of the first source
  std::uint32_t epoch() const { return epoch_; }                                        // of the last batch
  std::int64_t valid(std::uint64_t step) const { return sampling().batch_valid(step); } // rows of all workers
  double epochs(std::uint64_t steps) const { return sampling().epochs(steps); }
  std::uint64_t steps(double epochs) const { return sampling().steps(epochs); }
  Nanoseconds waited() const;
  const std::vector<const Session::OpenSource*>& sources() const { return sources_; }

 private:
  Status add(Session&, const program::Program&, std::size_t node, const Session::OpenSource&, const FeederSpec&);
  Result<const Batch*> next(std::size_t source);
  Status halt();

  std::vector<std::unique_ptr<Feeder>> feeders_;
  std::vector<std::unique_ptr<Delivery>> deliveries_; // per feeder; null: nothing to deliver
  std::vector<const Session::OpenSource*> sources_;   // per feeder
  program::BatchView view_;
  std::uint32_t epoch_ = 0;
};

} // namespace dlhost::run
