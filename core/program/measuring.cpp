// Names the program's steps for measurements, with the bytes and operations of each.
#include "program/program.h"

namespace dlhost::program {

void Program::measure(Clock* clock) {
  if (!clock) return timings_.stop();
  std::vector<Timing> all;
  for (const Step& step : steps_) {
    Timing timing;
    switch (step.act) {
    case Act::arrive: // only the rest of the wait; no bytes, because most of the copy ran beside other work
      timing = {.what = "copy", .type = "connector", .direction = "between"};
      break;
    case Act::feature:
    case Act::gradient: {
      const Unit& unit = units_[unit_frames_[step.index].unit];
      timing.what = unit.described->name;
      timing.type = unit.described->type;
      timing.direction = step.act == Act::feature ? "forward" : "backward";
      for (const auto& op : unit.ops)
        if ((op.role == Role::feature) == (step.act == Act::feature)) {
          timing.operations += op.operations;
          timing.bytes += op.bytes;
        }
      break;
    }
    case Act::call: {
      const Call& call = calls_[step.index];
      timing = {.what = call.what, .type = "connector", .direction = "between"};
      timing.bytes = static_cast<double>(slots_[call.out].bytes);
      for (const SlotId slot : call.in) timing.bytes += static_cast<double>(slots_[slot].bytes);
      break;
    }
    case Act::lend: timing = {.what = "lend", .type = "connector", .direction = "between"}; break;
    case Act::borrow: timing = {.what = "borrow", .type = "connector", .direction = "between"}; break;
    case Act::collect:
      timing = {.what = units_[step.index].described->name, .type = "collect", .direction = "params"};
      break;
    case Act::update:
      timing = {.what = updated_[step.index]->declared.name, .type = "update", .direction = "update"};
      exchange_->describe(step.index, timing);
      break;
    case Act::check_losses: timing = {.what = "losses", .type = "metrics", .direction = "between"}; break;
    }
    all.push_back(std::move(timing));
  }
  timings_.start(*clock, *stream_, std::move(all));
}

} // namespace dlhost::program
