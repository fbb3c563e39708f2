#include "program/build/step_list.h"

namespace dlhost::program {

void StepList::may_replace(SlotId written, SlotId read) {
  if (written != no_slot && read != no_slot) replacements_.push_back({written, read, next()});
}

void StepList::push(Call call) {
  touch(call.in);
  touch(call.out);
  steps_.push_back({.act = Act::call, .index = static_cast<std::uint32_t>(calls_.size())});
  calls_.push_back(std::move(call));
}

} // namespace dlhost::program
