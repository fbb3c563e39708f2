#include "program/build/tensor_ops.h"

#include <fmt/format.h>

namespace dlhost::program {

Result<Op*> TensorOps::adder(const TensorDesc& desc, bool first) {
  // first: y = s a (a gradient with a sign starts a sum); else y = a + s b.
  const std::string key = fmt::format("{} {} {} {}", to_string(desc.shape), desc.format.id, name_of(desc.dtype), first);
  if (auto known = adders_.find(key); known != adders_.end()) return known->second;
  MapSpec spec;
  const Term a = spec.expression.input(0);
  if (first) {
    spec.expression.result(a * spec.expression.scalar(0));
  } else {
    const Term b = spec.expression.input(1);
    spec.expression.result(a + b * spec.expression.scalar(0));
  }
  spec.in.assign(first ? 1 : 2, desc);
  spec.out = {desc};
  DLHOST_ASSIGN(auto op, device_.prepare(spec));
  ops_.push_back(std::move(op));
  return adders_[key] = ops_.back().get();
}

SlotId TensorOps::call(Op* op, std::vector<SlotId> in, const TensorDesc& out, float scalar, const char* what) {
  Call call{.op = op, .in = std::move(in), .scalar = scalar, .what = what};
  call.out = slots_.add(out, false);
  const SlotId result = call.out;
  if (out == slots_[call.in[0]].desc) // a sum may take a summand's place
    for (auto slot = call.in.rbegin(); slot != call.in.rend(); ++slot) steps_.may_replace(result, *slot);
  steps_.push(std::move(call));
  return result;
}

Result<SlotId> TensorOps::sum(SlotId to, SlotId added, float scale) {
  const TensorDesc desc = slots_[added].desc;
  DLHOST_ASSIGN(Op * op, adder(desc, false));
  return call(op, {to, added}, desc, scale, "sum");
}

Result<SlotId> TensorOps::scaled(SlotId from, float scale) {
  const TensorDesc desc = slots_[from].desc;
  DLHOST_ASSIGN(Op * op, adder(desc, true));
  return call(op, {from}, desc, scale, "sum");
}

Result<SlotId> TensorOps::reformed(SlotId from, const TensorDesc& wanted, const char* what) {
  const TensorDesc desc = slots_[from].desc;
  if (desc == wanted) return from;
  DLHOST_ASSIGN(auto op, device_.prepare(ReorderSpec{desc, wanted}));
  ops_.push_back(std::move(op));
  return call(ops_.back().get(), {from}, wanted, 1, what);
}

Status TensorOps::copy(SlotId from, SlotId to, const char* what) {
  Call copy{.in = {from}, .out = to, .bytes = slots_[to].bytes, .what = what};
  if (const TensorDesc& desc = slots_[from].desc, &wanted = slots_[to].desc; desc != wanted) {
    DLHOST_ASSIGN(auto op, device_.prepare(ReorderSpec{desc, wanted}));
    ops_.push_back(std::move(op));
    copy.op = ops_.back().get();
  }
  steps_.push(std::move(copy));
  return {};
}

void TensorOps::zero(SlotId slot) { steps_.push(Call{.out = slot, .bytes = slots_[slot].bytes, .what = "zero"}); }

} // namespace dlhost::program
