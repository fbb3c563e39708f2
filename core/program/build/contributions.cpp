#include "program/build/contributions.h"

namespace dlhost::program {

SlotId Contributions::add(SlotId gradient, const param::Param& param, std::size_t at) {
  if (setup_.apart) return left_on_host(gradient, param, at);
  share(gradient, param, at);
  return gradient;
}

Result<SlotId> Contributions::add_factor(SlotId from, const TensorDesc& wanted, const param::Param& param,
                                         std::size_t at) {
  if (setup_.apart) {
    DLHOST_ASSIGN(from, ops_.reformed(from, wanted, "factor"));
    return left_on_host(from, param, at);
  }
  const SlotId left = slots_.add(wanted, false);
  share(left, param, at);
  DLHOST_TRY(ops_.copy(from, left, "factor"));
  return left;
}

// A source's output on the host goes through the device as well, for its form.
SlotId Contributions::left_on_host(SlotId from, const param::Param& param, std::size_t at) {
  const Slot made = slots_[from];
  const auto copy = [&](SlotId source, bool to_host) {
    const SlotId to = slots_.add(made.desc, to_host);
    steps_.push(Call{.in = {source},
                     .out = to,
                     .direction = to_host ? Direction::to_host : Direction::from_host,
                     .leaves = to_host,
                     .bytes = made.desc.plain_bytes(),
                     .what = "copy"});
    return to;
  };
  if (made.on_host) from = copy(from, false);
  const SlotId left = copy(from, true);
  if (setup_.beside) slots_[from].kept = true;
  share(left, param, at);
  return left;
}

void Contributions::share(SlotId slot, const param::Param& param, std::size_t at) {
  slots_[slot].shared = &param;
  slots_[slot].shared_at = at;
}

} // namespace dlhost::program
