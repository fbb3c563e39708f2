#include "run/worker/step_watch.h"

namespace dlhost::run {

StepTimes StepWatch::now() const {
  const param::Table::Times& table = worker_.times();
  return {.all = clock_.now() - table.rested,
          .input = feeds_.waited(),
          .params = table.converting,
          .serving = table.serving,
          .waiting = table.waiting};
}

void StepWatch::end() {
  const StepTimes now = this->now();
  for (const auto part :
       {&StepTimes::all, &StepTimes::input, &StepTimes::params, &StepTimes::serving, &StepTimes::waiting})
    steps_.*part += now.*part - before_.*part;
  worker_.show(steps_);
}

} // namespace dlhost::run
