// The consistency handlers of a job: topology.consistency and the handlers of single params. All are used in one run,
// so they must agree on what a step is (docs/decisions/consistency.md).
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
    WorkerPlan first; // for the first step
    // All groups make each step together.
    bool in_step() const { return traits.joint && traits.staleness == 0; }
    // All slices make each version from the same steps, so each slice knows what goes into the others' versions.
    bool whole_versions() const {
      return traits.joint && !traits.folds && (traits.by_step || (traits.staleness == 0 && !traits.may_drop));
    }
  };
  const One& job() const { return all_.front(); }
  const One& of(const param::Param&) const;
  std::span<const One> all() const { return all_; } // the job's first
  bool any(bool Consistency::Traits::*trait) const;
  // The handlers in the form that tables and servers use.
  param::Handlers handlers(const param::Store&) const;

 private:
  Status add(const Part&, plugin::Registry&);

  std::vector<One> all_;
};

// Reports params whose handler cannot be used beside the job's.
void check_agreement(const config::Job&, plugin::Registry&, config::Problems&);

} // namespace dlhost::run
