// The plan: the choices made while the program was built.
#include <dlhost/parallel.h>

#include "program/program.h"

namespace dlhost::program {

plan::Plan Program::plan() const {
  plan::Plan plan{.device = device_->description(),
                  .threads = parallel_threads(),
                  .batch = rows_.rows() * (cut_ ? frames_ : 1),
                  .activation_bytes = footprint_.arena,
                  .param_bytes = store_->bytes(),
                  .links = links_.size()};
  for (const auto& unit : units_)
    for (const auto& op : unit.ops) plan.ops.push_back({unit.described->name, op.role, op.spec, op.kernel, op.formats});
  return plan;
}

} // namespace dlhost::program
