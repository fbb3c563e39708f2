#include "program/build/unit_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/problems.h"
#include "plugin/contained.h"
#include "program/build/factors.h"

namespace dlhost::program {

UnitBuilder::UnitBuilder(const BuildRequest& request, Slots& slots, Links& links, Bridges& bridges)
    : request_(request), nodes_(request.graph->nodes()), slots_(slots), links_(links), bridges_(bridges),
      fusions_(request.fuse ? Fusions(request, bridges) : Fusions(*request.graph)), units_(nodes_.size()),
      outputs_(nodes_.size()) {}

Result<std::vector<Unit>> UnitBuilder::build() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Status status = plugin::contained(*request_.activity, [&] { return prepare(i); });
    if (!status.ok()) return config::located(std::move(status).at("layer '", nodes_[i].name, "'"), nodes_[i].where);
  }
  return std::move(units_);
}

Status UnitBuilder::prepare(std::size_t index) {
  const net::Node& node = nodes_[index];
  Unit& unit = units_[index];
  unit.node = index;
  unit.described = &node;
  unit.part = request_.part.nodes[index];
  unit.layer = node.layer;
  if (!unit.part.computes) {
    DLHOST_TRY(declare_idle(node));
    return bridges_.make(index, {});
  }
  request_.activity->enter(node.actor, "prepare");
  unit.on_host = (node.source || node.setup.host) && !request_.device->traits().host_memory;
  unit.view = node.setup.is_view;
  note_inputs(unit);
  DLHOST_TRY(declare(unit));
  DLHOST_TRY(choose_factors(request_, unit));
  DLHOST_TRY(node.source ? prepare_source(unit) : unit.view ? prepare_view(unit) : prepare_layer(unit));
  return bridges_.make(index, outputs_[index]);
}

// The slot that an input reads. In a net with cycles it may be read before its node is prepared; then it is plain.
SlotId UnitBuilder::source_of(std::size_t node, std::size_t input) const {
  const auto& edge = nodes_[node].inputs.at(input);
  return bridges_.connector(node, input) ? bridges_.wanted(node, input) : outputs_[edge.node].at(edge.output);
}

void UnitBuilder::note_inputs(Unit& unit) {
  const auto& inputs = unit.described->inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& edge = inputs[i];
    unit.wants_input_gradient.push_back(request_.training && nodes_[edge.node].needs_gradient);
    if (outputs_[edge.node].empty() && !bridges_.connector(unit.node, i)) // a cycle
      for (const auto& desc : request_.part.nodes[edge.node].outputs)
        outputs_[edge.node].push_back(slots_.add(desc, unit.on_host));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    unit.adds_input_gradient.push_back(unit.wants_input_gradient[i] && adds_to_others(unit.node, i));
}

// Whether another layer contributes to this feature's gradient before this one.
bool UnitBuilder::adds_to_others(std::size_t index, std::size_t input) const {
  const net::Node& node = nodes_[index];
  if (!node.setup.accumulates) return false;
  const auto& visits = request_.record.visits;
  const auto turn = [&](std::size_t of) {
    return std::ranges::find_if(visits, [&](const Visit& visit) {
      return visit.kind == Visit::Kind::gradient && visit.node == of && visit.frame == 0 && wants_inputs(visit.wanted);
    });
  };
  const auto& edge = node.inputs[input];
  const auto& readers = nodes_[edge.node].readers.at(edge.output);
  const auto own = turn(index);
  const bool once = std::ranges::count(readers, index, &net::Reader::node) == 1;
  return once && std::ranges::any_of(readers, [&](const net::Reader& other) {
           return other.node != index && nodes_[other.node].needs_gradient && turn(other.node) < own;
         });
}

// Workers that share params have a place for all of each. Others have only what they hold.
param::Declaration UnitBuilder::declaration_of(const net::ParamUse& use, const Shape& held) const {
  const auto parts = request_.part.params.find(use.name);
  const bool in_parts = request_.shared && parts != request_.part.params.end();
  return {.name = use.name,
          .shape = in_parts ? use.spec.shape : held,
          .init = use.init,
          .init_at = use.init_at,
          .fan_in = use.spec.fan_in,
          .fan_out = use.spec.fan_out,
          .rate_scale = use.rate_scale,
          .decay_scale = use.decay_scale,
          .frozen = use.frozen,
          .consistency = use.consistency,
          .parts = in_parts ? parts->second : param::ParamParts()};
}

// Workers that share params number and lay out all of them alike. Those of a layer that others compute, they update.
Status UnitBuilder::declare_idle(const net::Node& node) {
  if (!request_.shared) return {};
  const auto index = static_cast<std::size_t>(&node - nodes_.data());
  const bool is_updated = node.live && std::ranges::any_of(request_.record.visits, [&](const Visit& visit) {
                            return visit.kind == Visit::Kind::update && visit.node == index;
                          });
  for (const net::ParamUse& use : node.params) {
    DLHOST_ASSIGN(param::Param * param, request_.store->declare(declaration_of(use, use.spec.shape)));
    param->updated = param->updated || (is_updated && !use.frozen);
  }
  return {};
}

Status UnitBuilder::declare(Unit& unit) {
  const net::Node& node = *unit.described;
  for (std::size_t p = 0; p < node.params.size(); ++p) {
    const Shape& held = unit.part.params[p];
    DLHOST_ASSIGN(param::Param * param, request_.store->declare(declaration_of(node.params[p], held)));
    unit.params.push_back(param);
    const param::ParamParts& parts = param->declared.parts;
    const auto own = param::part_of(parts, request_.part.rank);
    std::optional<param::Store::Place> place;
    if (!parts.empty()) place = {.shape = held, .first = own ? parts[*own].first : 0};
    unit.param_places.push_back(std::move(place));
  }
  for (std::size_t b = 0; b < node.setup.buffers.size(); ++b) {
    BufferSpec spec = node.setup.buffers[b];
    spec.desc = unit.part.buffers[b];
    Buffer buffer{.name = spec.name, .bytes = request_.device->bytes(spec.desc), .life = spec.life, .desc = spec.desc};
    buffer.initial = spec.initial;
    const std::string name = node.name + "." + spec.name;
    if (spec.life == Life::running) {
      DLHOST_ASSIGN(buffer.state, request_.store->declare_state(name, spec));
    }
    for (int f = 0; spec.life == Life::carried && request_.training && f < request_.record.frames; ++f)
      buffer.carried.push_back(request_.store->declare_carried(f == 0 ? name : fmt::format("{}:{}", name, f), spec));
    unit.buffers.push_back(std::move(buffer));
  }
  return {};
}

// Whether a source's output is delivered ahead to the memory of a device that the host cannot reach. Requires: it has
// readers, none on the host, and the rows of each frame start at the device's alignment.
bool UnitBuilder::is_delivered(std::size_t source, std::size_t output) const {
  const auto& readers = nodes_[source].readers.at(output);
  const auto on_host = [&](const net::Reader& reader) { return nodes_[reader.node].setup.host; };
  if (readers.empty() || std::ranges::any_of(readers, on_host)) return false;
  const std::size_t frame = request_.part.nodes[source].outputs[output].plain_bytes();
  return !request_.record.cut || frame % request_.device->traits().alignment == 0;
}

Status UnitBuilder::prepare_source(Unit& unit) {
  const auto& outputs = unit.part.outputs;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const SlotId output = slots_.add(outputs[o], unit.on_host && !is_delivered(unit.node, o));
    slots_[output].external = true;
    unit.outputs.push_back(output);
  }
  outputs_[unit.node] = unit.outputs;
  return {};
}

// A view's output is its input's memory. A change of shape needs plain memory.
Status UnitBuilder::prepare_view(Unit& unit) {
  const SlotId from = source_of(unit.node, 0);
  TensorDesc wanted = slots_[from].desc;
  const Shape& shape = unit.part.outputs.at(0).shape;
  if (wanted.shape != shape) wanted.format = Format::plain();
  DLHOST_ASSIGN(const SlotId input, links_.to(from, wanted, unit.on_host));
  unit.inputs = {input};
  wanted.shape = shape;
  const SlotId output = slots_.add(wanted, unit.on_host);
  slots_[output].alias = input;
  unit.outputs = {output};
  outputs_[unit.node] = unit.outputs;
  keep(unit);
  return {};
}

Preparation::Context UnitBuilder::context_of(const Unit& unit) const {
  const net::Node& node = *unit.described;
  Preparation::Context context{.device = request_.device,
                               .store = request_.store,
                               .training = request_.training,
                               .compute = node.setup.compute,
                               .batch = unit.part.rows,
                               .block_samples = request_.block_samples,
                               .companion = {*request_.registry, *request_.activity, node, request_.device_type}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorDesc& desc = slots_[source_of(unit.node, i)].desc;
    context.inputs.push_back(desc);
    if (node.setup.host) { // a host layer gets plain f32, or integers unchanged
      context.inputs.back().format = Format::plain();
      if (is_float(desc.dtype)) context.inputs.back().dtype = DType::f32;
    }
  }
  context.outputs = unit.part.outputs;
  return context;
}

SlotId UnitBuilder::offer(const net::Fusion& fusion, Unit& unit, Preparation::Context& context) const {
  if (fusion.pointwise) context.epilogue.pointwise = nodes_[*fusion.pointwise].setup.pointwise;
  if (!fusion.add) return no_slot;
  const auto& edge = nodes_[*fusion.add].inputs[fusion.addend_input];
  const SlotId addend = source_of(*fusion.add, fusion.addend_input);
  context.epilogue.add = true;
  unit.wants_input_gradient.push_back(request_.training && nodes_[edge.node].needs_gradient);
  context.addend = slots_[addend].desc;
  return addend;
}

Status UnitBuilder::prepare_layer(Unit& unit) {
  const net::Node& node = *unit.described;
  const net::Fusion* const fusion = unit.feature_fused ? nullptr : fusions_.of(unit.node);
  Preparation::Context context = context_of(unit);
  const SlotId addend = fusion ? offer(*fusion, unit, context) : no_slot;
  Preparation preparation(std::move(context), unit);
  const bool needs_prepare = !(node.setup.is_sum && unit.feature_fused);
  if (needs_prepare) DLHOST_TRY(unit.layer->prepare(preparation));
  DLHOST_TRY(check(unit, preparation));
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    DLHOST_ASSIGN(const SlotId slot, links_.to(source_of(unit.node, i), preparation.read_forms[i], unit.on_host));
    unit.inputs.push_back(slot);
  }
  if (unit.feature_fused) {
    unit.outputs = outputs_[unit.node];
  } else {
    DLHOST_TRY(make_outputs(unit, preparation));
    DLHOST_TRY(settle_epilogue(unit, preparation, addend));
  }
  make_buffers(unit);
  keep(unit);
  return {};
}

Status UnitBuilder::check(const Unit& unit, const Preparation& preparation) const {
  if (preparation.gradient_taken &&
      std::ranges::any_of(unit.params, [](const auto* param) { return param->factors.has_value(); }))
    return Status::internal(
        "takes its gradients behind an epilogue, so its declared factors are those of another gradient; this is "
        "a bug in the layer");
  if (!preparation.misused.empty())
    return Status::internal(preparation.misused, "; declare it in setup(). This is a bug in the layer");
  return {};
}

Status UnitBuilder::make_outputs(Unit& unit, const Preparation& preparation) {
  const auto& described = unit.part.outputs;
  auto& outputs = outputs_[unit.node];
  for (std::size_t o = 0; o < described.size(); ++o) {
    if (outputs.size() > o) { // read earlier, in a cycle
      if (preparation.given_forms[o] != described[o])
        return Status::unsupported("has its own format, but is read across a cycle, which needs plain tensors");
      unit.outputs.push_back(outputs[o]);
    } else {
      unit.outputs.push_back(slots_.add(preparation.given_forms[o], unit.on_host));
    }
  }
  outputs = unit.outputs;
  return {};
}

Status UnitBuilder::settle_epilogue(Unit& unit, const Preparation& preparation, SlotId addend) {
  if (fusions_.settle(unit, preparation)) {
    const net::Fusion& fusion = *fusions_.of(unit.node);
    for (const auto& part : {fusion.add, fusion.pointwise}) {
      if (!part) continue;
      outputs_[*part] = {unit.outputs[0]};
      Unit& taken = units_[*part];
      taken.feature_fused = *part > unit.node; // else a cycle: it is prepared already
      taken.gradient_fused = preparation.gradient_taken;
      taken.fusion_remark = fmt::format("in the op of {}", unit.described->name);
    }
  }
  if (addend == no_slot) return {};
  if (unit.epilogue_addend == SIZE_MAX) { // the op refused the epilogue
    unit.wants_input_gradient.pop_back();
    return {};
  }
  DLHOST_ASSIGN(const SlotId slot, links_.to(addend, preparation.read_forms.back(), unit.on_host));
  unit.inputs.push_back(slot);
  if (!preparation.gradient_taken) unit.wants_input_gradient.back() = false; // core passes the gradient on
  return {};
}

void UnitBuilder::make_buffers(Unit& unit) {
  for (const auto& buffer : unit.buffers) {
    const bool in_store = buffer.state || !buffer.carried.empty();
    const SlotId slot = in_store ? no_slot : slots_.add_block(buffer.bytes);
    if (!in_store && buffer.life == Life::carried) slots_[slot].kept = true;
    unit.buffer_slots.push_back(slot);
  }
}

// Keeps the outputs that are read after a step.
void UnitBuilder::keep(const Unit& unit) {
  const net::Node& node = *unit.described;
  for (const auto& metric : node.setup.metrics) slots_[unit.outputs.at(metric.output)].kept = true;
  for (const auto& name : request_.kept)
    for (std::size_t o = 0; o < unit.outputs.size(); ++o)
      if (name == fmt::format("{}:{}", node.name, node.setup.outputs[o].name) || (o == 0 && name == node.name))
        slots_[unit.outputs[o]].kept = true;
}

} // namespace dlhost::program
