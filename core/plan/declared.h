// The declarations of a job's plugins about the exchange of its params. Plain data, so that a test needs no plugins.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/codec.h>
#include <dlhost/consistency.h>
#include <dlhost/schema.h>
#include <dlhost/sync.h>

namespace dlhost::plan {

struct Declared {
  // A consistency handler: the job's (topology.consistency), or that of a single param.
  struct Handler {
    Part named;
    Consistency::Traits traits;
    WorkerPlan first;         // for the first step
    bool has_timer = false;   // it asks to be called later
    std::string layer, param; // empty: the job's
    Location where;

    // All groups make each step together.
    bool in_step() const { return traits.joint && traits.staleness == 0; }
    // All slices make each version from the same steps, so each slice knows what goes into the others' versions.
    bool whole_versions() const {
      return traits.joint && !traits.folds && (traits.by_step || (traits.staleness == 0 && !traits.may_drop));
    }
  };
  struct Groups {
    Sync::Traits traits;
    bool gossips = false;
  };

  std::vector<Handler> handlers{Handler()}; // the job's first
  std::optional<Codec::Traits> codec;       // empty: contributions are sent as they are
  bool codec_keeps = false;                 // the codec has state: feedback, or what it learns
  std::optional<Groups> sync;               // empty: there is one server group

  const Handler& job() const { return handlers.front(); }
  bool any(bool Consistency::Traits::*trait) const {
    return std::ranges::any_of(handlers, [trait](const Handler& one) { return one.traits.*trait; });
  }
  // The error of an encoding is not lost: it is sent later, or it is none on average.
  bool codec_loses_nothing() const { return !codec || codec->error_feedback || codec->unbiased || codec->lossless; }
};

} // namespace dlhost::plan
