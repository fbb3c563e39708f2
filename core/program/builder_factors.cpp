// The builder's part for params whose gradients are sent as factors: the servers multiply the factors, or add rows to
// those of a table. Requires: the param belongs to one layer, and one pass a step makes its gradient.
#include <algorithm>

#include "program/builder_state.h"

namespace dlhost::program {
namespace {

TensorDesc plain(DType dtype, const Shape& shape) { return {dtype, shape, Format::plain()}; }

} // namespace

// The factors of this program's rows.
param::Factors Builder::factors_of(const net::Node& node, const Factors& declared) const {
  const auto& edge = node.inputs.at(declared.input);
  const DType x = declared.of_rows ? DType::i32 : node.setup.compute, dy = declared.of_rows ? DType::f32 : x;
  return {.x = plain(x, nodes_[edge.node].setup.outputs.at(edge.output).desc.shape),
          .dy = plain(dy, node.setup.outputs.at(declared.output).desc.shape),
          .of_rows = declared.of_rows};
}

// The form of the gradient made from the factors, on the store's device. Errors: the device cannot make it.
Result<TensorDesc> Builder::made_of(const param::Factors& own, const param::Param& param) const {
  if (own.of_rows) {
    TensorDesc table = param.master;
    table.format = Format::plain();
    return table;
  }
  DLHOST_ASSIGN(const auto product, request_.store->device().prepare(own.product(param.master, 1)));
  return product->out[0];
}

bool Builder::is_one_product(const param::Param& param, std::size_t node) const {
  if (param.declared.frozen || program_.frames_ > 1 || request_.block_samples > 0) return false;
  std::size_t layers = 0;
  for (const auto& other : nodes_)
    layers += static_cast<std::size_t>(
        std::ranges::count(other.params, param.declared.name, [](const auto& use) { return use.name; }));
  const auto makes_it = [&](const Visit& visit) {
    return visit.node == node && visit.kind == Visit::Kind::gradient && wants_params(visit.wanted);
  };
  const auto& visits = request_.record.visits;
  return layers == 1 && std::ranges::count_if(visits, makes_it) == 1 &&
         std::ranges::find_if(visits, makes_it)->sign == 1;
}

// Decides which gradients of a unit are sent as factors; the layer then does not compute them. The master takes the
// form of the product.
Status Builder::settle_factors(Unit& unit) {
  if (!request_.training) return {};
  for (auto* param : unit.params) param->factors.reset();
  if (!request_.shared) return {};
  for (const auto& declared : unit.described->setup.factors) {
    param::Param& param = *unit.params.at(declared.param);
    const param::Factors own = factors_of(*unit.described, declared);
    if (!own.make(param.declared.shape))
      return Status::internal("declares the gradient of '", param.declared.name, "', ", to_string(param.declared.shape),
                              ", as the product of ", to_string(own.x.shape), " and ", to_string(own.dy.shape),
                              ", whose shapes do not fit; this is a bug in the layer");
    const std::int64_t batch = program_.graph_->batch();
    if (own.x.shape[0] != batch || own.dy.shape[0] != batch || !is_one_product(param, unit.node)) continue;
    const auto made = made_of(own, param);
    if (!made.ok()) continue; // the layer computes the gradient itself
    const auto pieces = param::Pieces::of(request_.store->device(), *made);
    if (!pieces) continue;
    param.factors = request_.shared->factors(param, own, *pieces);
    if (!param.factors) continue;
    param.pieces = *pieces;
    request_.store->settle(param, *made);
  }
  return {};
}

Status Builder::send_factors(const Visit& visit) {
  if (!wants_params(visit.wanted)) return {};
  const Unit& unit = program_.units_[visit.node];
  for (const auto& declared : unit.described->setup.factors) {
    param::Param* param = unit.params[declared.param];
    if (!param->factors) continue;
    const auto& slots = unit_frame(visit.node, visit.frame);
    const SlotId x = slots.input_slots[declared.input], dy = slots.output_gradient_slots[declared.output];
    if (dy == no_slot) continue;
    --awaited_[param];
    const param::Factors own = factors_of(*unit.described, declared);
    DLHOST_TRY(leave(x, own.x, *param, 0).status());
    DLHOST_ASSIGN(param_gradient_[param], leave(dy, own.dy, *param, param->factors->dy_at()));
  }
  return {};
}

// Copies a factor to the memory where servers read it.
Result<SlotId> Builder::leave(SlotId from, const TensorDesc& wanted, const param::Param& param, std::size_t at) {
  if (request_.store->apart()) {
    DLHOST_ASSIGN(from, reformed(from, wanted, "factor"));
    return left_on_host(from, param, at);
  }
  std::unique_ptr<Op> reorder;
  if (const TensorDesc& desc = program_.slots_[static_cast<std::size_t>(from)].desc; desc != wanted) {
    DLHOST_ASSIGN(reorder, program_.device_->prepare(ReorderSpec{desc, wanted}));
  }
  const SlotId left = new_slot(wanted, false);
  share(left, param, at);
  push_call({.op = reorder.get(),
             .in = {from},
             .out = left,
             .bytes = program_.slots_[static_cast<std::size_t>(left)].bytes,
             .what = "factor"});
  if (reorder) program_.ops_.push_back(std::move(reorder));
  return left;
}

// The same from device memory that the host cannot reach. A source's output on the host goes through the device as
// well, for its form.
SlotId Builder::left_on_host(SlotId from, const param::Param& param, std::size_t at) {
  const Slot made = program_.slots_[static_cast<std::size_t>(from)];
  const auto copy = [&](SlotId source, bool to_host) {
    const SlotId to = new_slot(made.desc, to_host);
    push_call({.in = {source},
               .out = to,
               .direction = to_host ? Direction::to_host : Direction::from_host,
               .leaves = to_host,
               .bytes = made.desc.plain_bytes(),
               .what = "copy"});
    return to;
  };
  if (made.on_host) from = copy(from, false);
  const SlotId left = copy(from, true);
  // The copy may last until the step ends, so the slot keeps its memory.
  if (request_.crosses_beside) program_.slots_[static_cast<std::size_t>(from)].kept = true;
  share(left, param, at);
  return left;
}

void Builder::share(SlotId slot, const param::Param& param, std::size_t at) {
  program_.slots_[static_cast<std::size_t>(slot)].shared = &param;
  program_.slots_[static_cast<std::size_t>(slot)].shared_at = at;
}

} // namespace dlhost::program
