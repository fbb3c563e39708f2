#include "program/build/factors.h"

#include <algorithm>

namespace dlhost::program {
namespace {

TensorDesc plain(DType dtype, const Shape& shape) { return {dtype, shape, Format::plain()}; }

// The form of the gradient made from the factors, on the store's device. Errors: the device cannot make it.
Result<TensorDesc> made_of(const param::Factors& own, const param::Param& param, param::Store& store) {
  if (own.of_rows) {
    TensorDesc table = param.master;
    table.format = Format::plain();
    return table;
  }
  DLHOST_ASSIGN(const auto product, store.device().prepare(own.product(param.master, 1)));
  return product->out[0];
}

// Of a piece's input: in its source's form, or in the one that a connector makes of it.
const Shape& shape_of_input(const BuildRequest& request, const Unit& unit, std::size_t input) {
  for (const plan::Connector& connector : request.part.connectors)
    for (const net::Reader& reader : connector.readers)
      if (reader.node == unit.node && reader.input == input) return connector.to.of(request.part.rank).box.shape;
  const auto& edge = unit.described->inputs.at(input);
  return request.part.nodes[edge.node].outputs.at(edge.output).shape;
}

bool is_one_product(const BuildRequest& request, const param::Param& param, std::size_t node) {
  if (param.declared.frozen || request.record.frames > 1 || request.block_samples > 0) return false;
  std::size_t layers = 0;
  for (const auto& other : request.graph->nodes())
    layers += static_cast<std::size_t>(
        std::ranges::count(other.params, param.declared.name, [](const auto& use) { return use.name; }));
  const auto makes_it = [&](const Visit& visit) {
    return visit.node == node && visit.kind == Visit::Kind::gradient && wants_params(visit.wanted);
  };
  const auto& visits = request.record.visits;
  return layers == 1 && std::ranges::count_if(visits, makes_it) == 1 &&
         std::ranges::find_if(visits, makes_it)->sign == 1;
}

} // namespace

param::Factors factors_of(const BuildRequest& request, const Unit& unit, const Factors& declared) {
  const DType x = declared.of_rows ? DType::i32 : unit.described->setup.compute, dy = declared.of_rows ? DType::f32 : x;
  return {.x = plain(x, shape_of_input(request, unit, declared.input)),
          .dy = plain(dy, unit.part.outputs.at(declared.output).shape),
          .of_rows = declared.of_rows};
}

Status choose_factors(const BuildRequest& request, Unit& unit) {
  if (!request.training) return {};
  for (auto* param : unit.params) param->factors.reset();
  if (!request.shared) return {};
  for (const auto& declared : unit.described->setup.factors) {
    param::Param& param = *unit.params.at(declared.param);
    if (!param.declared.parts.empty()) continue; // some servers would have no contribution
    const param::Factors own = factors_of(request, unit, declared);
    if (!own.make(param.declared.shape))
      return Status::internal("declares the gradient of '", param.declared.name, "', ", to_string(param.declared.shape),
                              ", as the product of ", to_string(own.x.shape), " and ", to_string(own.dy.shape),
                              ", whose shapes do not fit; this is a bug in the layer");
    const std::int64_t rows = unit.part.rows;
    if (own.x.shape[0] != rows || own.dy.shape[0] != rows || !is_one_product(request, param, unit.node)) continue;
    const auto made = made_of(own, param, *request.store);
    if (!made.ok()) continue; // the layer computes the gradient itself
    const auto pieces = param::Pieces::of(request.store->device(), *made);
    if (!pieces) continue;
    param.factors = request.shared->factors(param, own, *pieces);
    if (!param.factors) continue;
    param.pieces = *pieces;
    request.store->settle(param, *made);
  }
  return {};
}

} // namespace dlhost::program
