// The builder's first part: units, their links and what is fused.
#include <algorithm>

#include <fmt/format.h>

#include "plugin/contained.h"
#include "program/builder_state.h"
#include "program/preparation.h"

namespace dlhost::program {

Builder::Builder(Program& program, BuildRequest& request)
    : program_(program), request_(request), nodes_(request.graph->nodes()) {
  program_.owned_graph_ = std::move(request.graph);
  program_.graph_ = program_.owned_graph_.get();
  program_.device_ = request.device;
  program_.stream_ = request.stream;
  program_.store_ = request.store;
  program_.sharing_ = request.sharing;
  program_.others_ = request.others;
  program_.activity_ = request.activity;
  program_.updater_actor_ = request.updater_actor;
  program_.frames_ = request.record.frames;
  program_.cut_ = request.record.cut;
  program_.training_ = request.training;
  program_.clip_norm_ = request.clip_norm;
  if (request.scales_loss) program_.loss_scale_.emplace();
  if (request.updater) rule_ = request.updater->rule();
}

Status Builder::prepare_units() {
  fusion_of_.resize(nodes_.size());
  node_outputs_.resize(nodes_.size());
  done_feature_.resize(nodes_.size());
  passed_through_.resize(nodes_.size());
  if (request_.fuse) fusions_ = net::find_fusions(*program_.graph_, request_.training);
  // A feature that somebody asks to see has to be made.
  const auto asked = [&](std::size_t node) {
    return std::ranges::any_of(
        request_.kept, [&](const std::string& name) { return name.substr(0, name.find(':')) == nodes_[node].name; });
  };
  std::erase_if(fusions_, [&](const net::Fusion& fusion) {
    return asked(fusion.producer) || (fusion.add && fusion.pointwise && asked(*fusion.add));
  });
  for (const auto& fusion : fusions_) fusion_of_[fusion.producer] = &fusion;
  program_.units_.resize(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Status status = plugin::contained(*program_.activity_, [&] { return prepare_unit(i); });
    if (!status.ok()) return std::move(status).at("layer '", nodes_[i].name, "'");
  }
  return {};
}

// Whether another layer contributes to the gradient of this feature before this one does.
bool Builder::adds_to_others(const net::Node& node, std::size_t index, std::size_t input) const {
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

SlotId Builder::new_slot(const TensorDesc& desc, bool on_host) {
  Slot slot;
  slot.desc = desc;
  slot.bytes = on_host ? desc.plain_bytes() : program_.device_->bytes(desc);
  slot.on_host = on_host;
  program_.slots_.push_back(slot);
  return static_cast<SlotId>(program_.slots_.size() - 1);
}

SlotId Builder::new_block(std::size_t bytes) {
  Slot slot;
  slot.bytes = bytes;
  program_.slots_.push_back(slot);
  return static_cast<SlotId>(program_.slots_.size() - 1);
}

// Whether a source's output is taken on a device whose memory the host cannot reach, where it is brought ahead: it is
// read, by no layer on the host, and the rows of each frame begin where the device wants memory to.
bool Builder::is_delivered(std::size_t source, std::size_t output) const {
  const auto& readers = nodes_[source].readers.at(output);
  const auto on_host = [&](const net::Reader& reader) { return nodes_[reader.node].setup.host; };
  if (readers.empty() || std::ranges::any_of(readers, on_host)) return false;
  const std::size_t frame = nodes_[source].setup.outputs[output].desc.plain_bytes();
  return !program_.cut_ || frame % program_.device_->traits().alignment == 0;
}

// The slot of a node's output; in a net with cycles it may be read before its node is prepared, and is then plain.
SlotId Builder::source_slot(std::size_t node, std::size_t output) const { return node_outputs_[node].at(output); }

Status Builder::declare(Unit& unit) {
  const net::Node& node = *unit.described;
  for (const auto& use : node.params) {
    DLHOST_ASSIGN(param::Param * param, request_.store->declare({.name = use.name,
                                                                 .shape = use.spec.shape,
                                                                 .init = use.init,
                                                                 .init_at = use.init_at,
                                                                 .fan_in = use.spec.fan_in,
                                                                 .fan_out = use.spec.fan_out,
                                                                 .rate_scale = use.rate_scale,
                                                                 .decay_scale = use.decay_scale,
                                                                 .frozen = use.frozen,
                                                                 .consistency = use.consistency}));
    unit.params.push_back(param);
  }
  for (const auto& spec : node.setup.buffers) {
    Buffer buffer{.name = spec.name, .bytes = program_.device_->bytes(spec.desc), .life = spec.life, .desc = spec.desc};
    buffer.initial = spec.initial;
    const std::string name = node.name + "." + spec.name;
    if (spec.life == Life::running) {
      DLHOST_ASSIGN(buffer.state, request_.store->declare_state(name, spec));
    }
    for (int f = 0; spec.life == Life::carried && request_.training && f < program_.frames_; ++f)
      buffer.carried.push_back(request_.store->declare_carried(f == 0 ? name : fmt::format("{}:{}", name, f), spec));
    unit.buffers.push_back(std::move(buffer));
  }
  return {};
}

Status Builder::prepare_unit(std::size_t index) {
  const net::Node& node = nodes_[index];
  Unit& unit = program_.units_[index];
  unit.node = index;
  unit.described = &node;
  unit.layer = node.layer;
  program_.activity_->enter(node.actor, "prepare");
  unit.on_host = (node.source || node.setup.host) && !program_.device_->traits().host_memory;
  unit.view = node.setup.is_view;
  for (const auto& edge : node.inputs) {
    unit.wants_input_gradient.push_back(request_.training && nodes_[edge.node].needs_gradient);
    if (node_outputs_[edge.node].empty()) // a cycle
      for (const auto& port : nodes_[edge.node].setup.outputs)
        node_outputs_[edge.node].push_back(new_slot(port.desc, unit.on_host));
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    unit.adds_input_gradient.push_back(unit.wants_input_gradient[i] && adds_to_others(node, index, i));
  DLHOST_TRY(declare(unit));
  DLHOST_TRY(settle_factors(unit));
  if (node.source) {
    for (std::size_t o = 0; o < node.setup.outputs.size(); ++o) {
      unit.outputs.push_back(new_slot(node.setup.outputs[o].desc, unit.on_host && !is_delivered(index, o)));
      program_.slots_.back().external = true;
    }
    node_outputs_[index] = unit.outputs;
    return {};
  }
  if (unit.view) return prepare_view(unit);

  const bool fused = done_feature_[index];
  const net::Fusion* fusion = fusion_of_[index];
  Preparation::Context context{.device = program_.device_,
                               .store = program_.store_,
                               .training = request_.training,
                               .compute = node.setup.compute,
                               .batch = program_.graph_->batch(),
                               .block_samples = request_.block_samples,
                               .companion = {*request_.registry, *program_.activity_, node, request_.device_type}};
  for (const auto& edge : node.inputs) {
    const Slot& slot = program_.slots_[static_cast<std::size_t>(source_slot(edge.node, edge.output))];
    context.inputs.push_back(slot.desc);
    if (node.setup.host) { // a host layer is given plain f32, or the integers as they are
      context.inputs.back().format = Format::plain();
      if (is_float(slot.desc.dtype)) context.inputs.back().dtype = DType::f32;
    }
  }
  for (const auto& port : node.setup.outputs) context.outputs.push_back(port.desc);
  SlotId addend = no_slot;
  if (fusion && !fused) {
    if (fusion->pointwise) context.epilogue.pointwise = nodes_[*fusion->pointwise].setup.pointwise;
    if (fusion->add) {
      const auto& edge = nodes_[*fusion->add].inputs[fusion->addend_input];
      addend = source_slot(edge.node, edge.output);
      context.epilogue.add = true;
      unit.wants_input_gradient.push_back(request_.training && nodes_[edge.node].needs_gradient);
      context.addend = program_.slots_[static_cast<std::size_t>(addend)].desc;
    }
  }
  Preparation preparation(std::move(context), unit);
  const bool needs_prepare = !(node.setup.is_sum && fused);
  if (needs_prepare) DLHOST_TRY(unit.layer->prepare(preparation));
  if (preparation.gradient_taken &&
      std::ranges::any_of(unit.params, [](const auto* param) { return param->factors.has_value(); }))
    return Status::internal(
        "takes gradients from behind an epilogue, and so none that its factors would be of; this is "
        "a bug in the layer");
  if (!preparation.misused.empty())
    return Status::internal(preparation.misused, "; declare it in setup(). This is a bug in the layer");

  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto& edge = node.inputs[i];
    const SlotId from = source_slot(edge.node, edge.output);
    DLHOST_ASSIGN(const SlotId slot, linked(from, preparation.read_forms[i], unit.on_host));
    unit.inputs.push_back(slot);
  }
  if (fused) {
    unit.feature_fused = true;
    unit.outputs = node_outputs_[index];
  } else {
    for (std::size_t o = 0; o < node.setup.outputs.size(); ++o) {
      if (node_outputs_[index].size() > o) { // was read before, in a cycle
        if (preparation.given_forms[o] != node.setup.outputs[o].desc)
          return Status::unsupported(
              "lies in a format of its own, but is read across a cycle, which needs plain tensors");
        unit.outputs.push_back(node_outputs_[index][o]);
      } else {
        unit.outputs.push_back(new_slot(preparation.given_forms[o], unit.on_host));
      }
    }
    node_outputs_[index] = unit.outputs;
    settle_fusion(unit, fusion, preparation);
    if (addend != no_slot && unit.epilogue_addend == SIZE_MAX) unit.wants_input_gradient.pop_back(); // refused
    if (unit.epilogue_addend != SIZE_MAX) {
      DLHOST_ASSIGN(const SlotId slot, linked(addend, preparation.read_forms.back(), unit.on_host));
      unit.inputs.push_back(slot);
      if (!preparation.gradient_taken) unit.wants_input_gradient.back() = false; // core passes it on itself
    }
  }
  for (const auto& buffer : unit.buffers) {
    const bool in_store = buffer.state || !buffer.carried.empty();
    unit.buffer_slots.push_back(in_store ? no_slot : new_block(buffer.bytes));
    if (!in_store && buffer.life == Life::carried) program_.slots_.back().kept = true;
  }
  keep(unit);
  return {};
}

// The output is the input's memory. A view that changes the shape needs it plain.
Status Builder::prepare_view(Unit& unit) {
  const net::Node& node = *unit.described;
  const auto& edge = node.inputs.at(0);
  const SlotId from = source_slot(edge.node, edge.output);
  TensorDesc wanted = program_.slots_[static_cast<std::size_t>(from)].desc;
  const Shape& shape = node.setup.outputs.at(0).desc.shape;
  if (wanted.shape != shape) wanted.format = Format::plain();
  DLHOST_ASSIGN(const SlotId input, linked(from, wanted, unit.on_host));
  unit.inputs = {input};
  wanted.shape = shape;
  const SlotId output = new_slot(wanted, unit.on_host);
  program_.slots_[static_cast<std::size_t>(output)].alias = input;
  unit.outputs = {output};
  node_outputs_[unit.node] = unit.outputs;
  keep(unit);
  return {};
}

void Builder::settle_fusion(Unit& unit, const net::Fusion* fusion, const Preparation& preparation) {
  if (!fusion) {
    if (request_.fuse) unit.fusion_remark = net::why_apart(*program_.graph_, unit.node, request_.training);
    return;
  }
  std::string names;
  if (fusion->add) names = nodes_[*fusion->add].name;
  if (fusion->pointwise) names += (names.empty() ? "" : " + ") + nodes_[*fusion->pointwise].name;
  if (!preparation.epilogue_passed || !preparation.epilogue_taken) {
    unit.fusion_remark = fmt::format("not fused with {}: {}", names,
                                     !preparation.epilogue_passed          ? "the layer takes no epilogue"
                                     : preparation.epilogue_remark.empty() ? "the device refused"
                                                                           : preparation.epilogue_remark);
    return;
  }
  unit.fusion_remark = "fused with " + names;
  if (fusion->add) unit.epilogue_addend = unit.described->setup.inputs.size();
  unit.reads_output = preparation.output_read;
  for (const auto& part : {fusion->add, fusion->pointwise}) {
    if (!part) continue;
    node_outputs_[*part] = {unit.outputs[0]};
    done_feature_[*part] = true;
    passed_through_[*part] = preparation.gradient_taken;
    program_.units_[*part].gradient_fused = preparation.gradient_taken;
    program_.units_[*part].fusion_remark = fmt::format("in the op of {}", unit.described->name);
  }
}

SlotId Builder::find_link(SlotId from, const TensorDesc& wanted, bool on_host) const {
  for (const auto& link : program_.links_) {
    const Slot& to = program_.slots_[static_cast<std::size_t>(link.to)];
    if (link.from == from && to.desc == wanted && to.on_host == on_host) return link.to;
  }
  return no_slot;
}

Result<SlotId> Builder::reordered(SlotId from, const TensorDesc& wanted) {
  const TensorDesc desc = program_.slots_[static_cast<std::size_t>(from)].desc;
  if (desc == wanted) return from;
  if (const SlotId known = find_link(from, wanted, false); known != no_slot) return known;
  Link link;
  link.from = from;
  DLHOST_ASSIGN(link.forward, program_.device_->prepare(ReorderSpec{desc, wanted}));
  if (request_.training && is_float(desc.dtype) && is_float(wanted.dtype)) {
    DLHOST_ASSIGN(link.backward, program_.device_->prepare(ReorderSpec{wanted, desc}));
  }
  link.to = new_slot(wanted, false);
  program_.links_.push_back(std::move(link));
  return program_.links_.back().to;
}

SlotId Builder::copied(SlotId from, Direction direction) {
  const TensorDesc desc = program_.slots_[static_cast<std::size_t>(from)].desc;
  const bool to_host = direction == Direction::to_host;
  if (const SlotId known = find_link(from, desc, to_host); known != no_slot) return known;
  Link link;
  link.from = from;
  link.direction = direction;
  link.to = new_slot(desc, to_host);
  program_.links_.push_back(std::move(link));
  return program_.links_.back().to;
}

// The slot that holds `from` in the wanted form, on the wanted side; made by links where it has to be.
Result<SlotId> Builder::linked(SlotId from, const TensorDesc& wanted, bool on_host) {
  const Slot source = program_.slots_[static_cast<std::size_t>(from)];
  if (wanted.shape != source.desc.shape || wanted.format.is_any())
    return Status::internal("asked for an input of ", to_string(source.desc.shape), " as ", to_string(wanted.shape),
                            ", in a format that is not settled; this is a bug in the layer");
  if (source.desc == wanted && source.on_host == on_host) return from;
  if (source.on_host) from = copied(from, Direction::from_host);
  DLHOST_ASSIGN(from, reordered(from, wanted));
  if (on_host) from = copied(from, Direction::to_host);
  return from;
}

void Builder::keep(Unit& unit) {
  const net::Node& node = *unit.described;
  for (const auto& metric : node.setup.metrics)
    program_.slots_[static_cast<std::size_t>(unit.outputs.at(metric.output))].kept = true;
  for (const auto& name : request_.kept)
    for (std::size_t o = 0; o < unit.outputs.size(); ++o)
      if (name == fmt::format("{}:{}", node.name, node.setup.outputs[o].name) || (o == 0 && name == node.name))
        program_.slots_[static_cast<std::size_t>(unit.outputs[o])].kept = true;
}

} // namespace dlhost::program
