// The consistency handlers of a job: topology.consistency, and those that some params have instead. All stand in one
// run, so that they have to agree on what a step is (docs/decisions/consistency.md).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlhost/consistency.h>

#include "config/job.h"
#include "config/problems.h"
#include "param/store/store.h"
#include "param/table/handlers.h"
#include "plugin/registry.h"

namespace dlhost::run {

class Agreement {
 public:
  static Result<Agreement> make(const config::Job&, plugin::Registry&);

  struct One {
    Part named;
    std::unique_ptr<Consistency> consistency;
    const plugin::Actor* actor = nullptr;
    Consistency::Traits traits;
    WorkerPlan first; // of the first step
    // All groups make each step together.
    bool in_step() const { return traits.joint && traits.staleness == 0; }
    // All slices make each version of the same steps, so that they can know of one another what goes into it.
    bool whole_versions() const {
      return traits.joint && !traits.folds && (traits.by_step || (traits.staleness == 0 && !traits.may_drop));
    }
  };
  const One& job() const { return all_.front(); }
  const One& of(const param::Param&) const;
  std::span<const One> all() const { return all_; } // the job's first
  bool any(bool Consistency::Traits::*trait) const;
  // As tables and servers ask for them.
  param::Handlers handlers(const param::Store&) const;

 private:
  Status add(const Part&, plugin::Registry&);

  std::vector<One> all_;
};

// Params whose handler cannot stand beside the job's.
void check_agreement(const config::Job&, plugin::Registry&, config::Problems&);

} // namespace dlhost::run
