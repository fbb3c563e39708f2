// Decides what becomes of the contributions to one slice: they wait, make the next version, are folded into it, or are
// dropped. The slice's consistency handler decides about each of them, or the chooser about whole steps.
//
// Owns: the contributions that wait, the handler's words, and the number of each worker's steps that have arrived.
// Borrows the maker of versions, which gets what is decided. Thread: the server's. Does not allocate after
// construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/consistency.h>

#include "param/server/arrivals.h"
#include "param/server/slice_versions.h"
#include "param/server/step_choices.h"
#include "param/server/version_maker.h"
#include "param/table/handlers.h"
#include "plugin/activity.h"

namespace dlhost::param {

class SliceDecisions {
 public:
  struct Setup {
    Handler handler;
    const StepChoices* choices = nullptr; // null: the handler decides about each contribution
    const SliceVersions* versions = nullptr;
    VersionMaker* maker = nullptr;
    Arrivals* arrivals = nullptr; // counts those of all slices
    plugin::Activity* activity = nullptr;
  };
  explicit SliceDecisions(const Setup&);

  // `steps`: of each contributor, the steps that are in the start value.
  void begin(std::span<const std::uint64_t> steps);

  // The contributor's steps below this one have arrived.
  std::uint64_t arrived(std::size_t contributor) const { return arrived_[contributor]; }
  const Consistency::Traits& traits() const { return traits_; }

  // due: the maker has contributions, and the caller makes the version. dropped: the caller notes it in the ledger.
  enum class Outcome : std::uint8_t { waits, due, dropped };
  // A contribution of a step that had not arrived. Errors: internal if the handler breaks its contract.
  Result<Outcome> take(const Received&);
  // A worker makes no more steps: the held contributions may be a whole version.
  Result<Outcome> leave(std::size_t contributor);
  // Makes the chosen contributions of the next version due, once all have arrived. Others may have arrived too.
  // Requires: steps are chosen.
  Result<Outcome> take_chosen();
  // The chooser has counted the contributor's step as late: if it has arrived, it is folded in, or dropped.
  // Requires: steps are chosen.
  Status take_late(std::size_t contributor, bool folds);

  // The handler's verdict on a `Get`.
  GetVerdict on_get(std::size_t contributor, Version at_least);
  // True if the chooser has not decided yet about an update of this worker. Until then a `Get` of the worker is not
  // answered, even if the version that it asks for exists: after the answer the worker would overwrite the gradient.
  // This also bounds the number of held updates when the chooser is slow. False if steps are not chosen.
  bool is_undecided(std::size_t contributor) const;
  // The weight of folded contributions at a pause.
  float weight_at_pause() { return setup_.handler.consistency->weight_at_pause(state(first())); }

 private:
  std::size_t first() const { return setup_.versions->contributors().indices().front(); } // contributor
  SliceState state(std::size_t contributor);
  // Carries out a verdict. `arrived`: the contribution that it is about; null: it is about the held ones.
  Result<Outcome> decide(const Received* arrived, const UpdateVerdict&);

  const Setup setup_;
  const Consistency::Traits traits_; // of the handler
  VersionMaker& maker_;
  std::vector<Received> held_;
  std::vector<Contribution> seen_;     // the held contributions, for the handler
  std::vector<std::uint64_t> words_;   // the handler's
  std::vector<std::uint64_t> arrived_; // per contributor
};

} // namespace dlhost::param
