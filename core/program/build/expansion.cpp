#include "program/build/expansion.h"

#include <algorithm>

#include "config/problems.h"

namespace dlhost::program {
namespace {

// Repeats the slots for each frame, and gives each unit its slots in each.
UnitFrames make_frames(const std::vector<Unit>& units, int frames, Slots& slots) {
  slots.repeat(frames);
  UnitFrames made(units.size(), frames);
  for (std::size_t u = 0; u < units.size(); ++u)
    for (int f = 0; f < frames; ++f) {
      const Unit& unit = units[u];
      UnitFrame& at = made.at(u, f);
      at.unit = u;
      for (auto slot : unit.inputs) at.input_slots.push_back(slots.in_frame(slot, f));
      for (auto slot : unit.outputs) at.output_slots.push_back(slots.in_frame(slot, f));
      for (auto slot : unit.buffer_slots) at.buffer_slots.push_back(slots.in_frame(slot, f));
      at.output_gradient_slots.assign(unit.outputs.size(), no_slot);
      at.input_gradient_slots.assign(unit.inputs.size(), no_slot);
      at.param_gradient_slots.assign(unit.params.size(), no_slot);
    }
  return made;
}

} // namespace

Expansion::Expansion(const BuildRequest& request, const std::vector<Unit>& units, const std::vector<Link>& links,
                     const Bridges& bridges, Slots& slots)
    : request_(request), units_(units), links_(links), slots_(slots),
      frames_(make_frames(units, request.record.frames, slots)), steps_(slots), ops_(*request.device, slots, steps_),
      contributions_({.apart = request.store->apart(), .beside = request.crosses_beside}, slots, steps_, ops_),
      features_(links, frames_, slots, steps_, ops_), transfers_(request, bridges, slots, steps_),
      params_(request, units, frames_, slots, steps_, ops_, contributions_) {}

Result<ExpandedSteps> Expansion::run() {
  // Losses are checked after the last feature: with the usual algorithms before any update. By then all data of this
  // step has arrived, so the feeder may reuse its memory.
  const auto& visits = request_.record.visits;
  const auto is_feature = [](const Visit& visit) { return visit.kind == Visit::Kind::feature; };
  const auto last_feature = std::ranges::find_if(visits.rbegin(), visits.rend(), is_feature);
  for (const auto& visit : visits) {
    DLHOST_TRY(add(visit));
    if (&visit == &*last_feature) steps_.push({.act = Act::check_losses});
  }
  auto ops = ops_.take();
  for (auto& op : transfers_.take_ops()) ops.push_back(std::move(op));
  return ExpandedSteps{.frames = std::move(frames_),
                       .steps = steps_.take_steps(),
                       .calls = steps_.take_calls(),
                       .ops = std::move(ops),
                       .loans = transfers_.take_loans(),
                       .borrowings = transfers_.take_borrowings(),
                       .lent = transfers_.lent_memory(),
                       .replacements = steps_.take_replacements(),
                       .updated = params_.updated()};
}

Status Expansion::add(const Visit& visit) {
  switch (visit.kind) {
  case Visit::Kind::collect: add_collect(visit.node); return {};
  case Visit::Kind::feature: return add_feature(visit);
  case Visit::Kind::gradient: return add_gradient(visit);
  case Visit::Kind::update: params_.update(units_[visit.node]); return {};
  }
  return {};
}

void Expansion::add_collect(std::size_t node) {
  if (!units_[node].params.empty()) steps_.push({.act = Act::collect, .index = static_cast<std::uint32_t>(node)});
}

void Expansion::add_links(SlotId from, int frame) {
  for (const Link& link : links_) {
    if (link.from != from) continue;
    Call call;
    call.op = link.forward.get();
    call.in = {slots_.in_frame(link.from, frame)};
    call.out = slots_.in_frame(link.to, frame);
    call.direction = link.direction;
    call.bytes = slots_[link.from].bytes;
    call.what = link.forward ? "format" : "copy";
    steps_.push(std::move(call));
    add_links(link.to, frame);
  }
}

// Adds the wait for a source once, before the first frame reads it: the batch arrives as a whole.
void Expansion::add_arrival(const Unit& source) {
  const auto is_delivered = [&](SlotId output) { return slots_.is_delivered(output); };
  const auto is_arrival = [&](const Step& step) { return step.act == Act::arrive && step.index == source.node; };
  if (std::ranges::any_of(source.outputs, is_delivered) && std::ranges::none_of(steps_.steps(), is_arrival))
    steps_.push({.act = Act::arrive, .index = static_cast<std::uint32_t>(source.node)});
}

Status Expansion::add_feature(const Visit& visit) {
  DLHOST_ASSIGN(const auto borrowed, transfers_.borrow_features(visit.node, visit.frame));
  for (const SlotId slot : borrowed) add_links(slot, visit.frame);
  const Unit& unit = units_[visit.node];
  features_.begin(visit.node, visit.frame);
  outputs_reached_.erase({visit.node, visit.frame});
  if (unit.part.computes && !unit.feature_fused) {
    if (unit.described->source)
      add_arrival(unit);
    else if (!unit.view)
      add_computing(unit, visit);
    for (auto slot : unit.outputs) add_links(slot, visit.frame);
  }
  return transfers_.lend_features(visit.node, visit.frame);
}

void Expansion::add_computing(const Unit& unit, const Visit& visit) {
  const UnitFrame& at = frames_.at(visit.node, visit.frame);
  for (auto slot : at.input_slots) {
    // Read before it is ever written in a step: it carries its value over from the step before.
    Slot& read = slots_[slot];
    if (read.last < 0 && !read.external && read.alias == no_slot) read.kept = true;
    steps_.touch(slot);
  }
  steps_.touch(at.output_slots);
  steps_.touch(at.buffer_slots);
  if (unit.described->setup.in_place) steps_.may_replace(at.output_slots[0], at.input_slots[0]);
  if (unit.epilogue_addend != SIZE_MAX) steps_.may_replace(at.output_slots[0], at.input_slots[unit.epilogue_addend]);
  steps_.push({.act = Act::feature,
               .sweep = visit.sweep,
               .index = static_cast<std::uint32_t>(frames_.index(visit.node, visit.frame)),
               .frame = static_cast<std::uint32_t>(visit.frame)});
}

// Returns false if the visit contributes to no input's gradient.
Result<bool> Expansion::contribute_to_inputs(const Unit& unit, const Visit& visit) {
  UnitFrame& at = frames_.at(visit.node, visit.frame);
  bool any = false;
  for (std::size_t i = 0; i < at.input_slots.size(); ++i) {
    if (!unit.wants_input_gradient[i]) continue;
    if (at.input_gradient_slots[i] != no_slot)
      return Status::unsupported("the algorithm asks twice in one frame for the input gradients of layer '",
                                 unit.described->name, "'; a second sweep needs its own frame");
    DLHOST_ASSIGN(at.input_gradient_slots[i], features_.contribute(unit, i, at.input_slots[i]));
    any = true;
  }
  return any;
}

// The gradient's step touches the tensors that the layer reads and writes.
void Expansion::touch_gradient(const Unit& unit, const UnitFrame& at, Wanted wanted) {
  const auto& setup = unit.described->setup;
  if (wants_inputs(wanted)) steps_.touch(at.input_gradient_slots);
  if (wants_params(wanted)) steps_.touch(at.param_gradient_slots);
  steps_.touch(at.output_gradient_slots);
  if (setup.reads.inputs) // the layer's own inputs: no gradient needs an epilogue's addend
    for (std::size_t i = 0; i < setup.inputs.size(); ++i) steps_.touch(at.input_slots[i]);
  if (setup.reads.outputs || unit.reads_output) steps_.touch(at.output_slots);
  steps_.touch(at.buffer_slots);
  if (setup.in_place && wanted == Wanted::inputs && !setup.is_loss)
    steps_.may_replace(at.input_gradient_slots[0], at.output_gradient_slots[0]);
}

// Which outputs of the node a loss depends on, and notes that with this visit it depends on those that it reads. The
// same on all workers of the group.
const std::vector<bool>& Expansion::reach(const Visit& visit) {
  const auto& nodes = request_.graph->nodes();
  const net::Node& node = nodes[visit.node];
  const auto [known, is_first] = outputs_reached_.try_emplace({visit.node, visit.frame});
  std::vector<bool>& outputs = known->second;
  for (std::size_t o = 0; is_first && o < node.setup.outputs.size(); ++o)
    outputs.push_back(reached_.erase({visit.node, o, visit.frame}) > 0);
  const bool any = node.setup.is_loss || std::ranges::find(outputs, true) != outputs.end();
  if ((any || !request_.needs_loss) && wants_inputs(visit.wanted))
    for (const auto& edge : node.inputs)
      if (nodes[edge.node].needs_gradient) reached_.insert({edge.node, edge.output, visit.frame});
  return outputs;
}

Status Expansion::add_gradient(const Visit& visit) {
  const Unit& unit = units_[visit.node];
  const net::Node& node = *unit.described;
  if (!node.needs_gradient) return {};
  const std::vector<bool>& outputs = reach(visit);
  DLHOST_TRY(transfers_.pass_gradients(visit.node, visit.frame, outputs, features_));
  if (unit.gradient_fused || !unit.part.computes) return {};
  DLHOST_TRY(features_.sum_outputs(visit.node, visit.frame));
  const UnitFrame& at = frames_.at(visit.node, visit.frame);
  const bool reached = node.setup.is_loss || std::ranges::find(outputs, true) != outputs.end();
  if (!reached && request_.needs_loss) {
    if (!node.live) return {};
    return config::invalid_at(node.where, "layer '", node.name,
                              "' has params that learn, but no loss depends on it; connect it, remove it, "
                              "or freeze its params (param.NAME.frozen = true)");
  }
  if (node.setup.is_sum || unit.view)
    return wants_inputs(visit.wanted) ? features_.pass_on(unit, visit.frame) : Status();
  bool inputs = false;
  if (wants_inputs(visit.wanted)) {
    DLHOST_ASSIGN(inputs, contribute_to_inputs(unit, visit));
  }
  const bool params = wants_params(visit.wanted) && params_.make_slots(unit, visit.frame);
  if (!inputs && !params) return params_.add_factors(visit);
  const auto wanted = static_cast<Wanted>((inputs ? 1 : 0) | (params ? 2 : 0));
  touch_gradient(unit, at, wanted);
  steps_.push({.act = Act::gradient,
               .wanted = wanted,
               .sweep = visit.sweep,
               .index = static_cast<std::uint32_t>(frames_.index(visit.node, visit.frame)),
               .frame = static_cast<std::uint32_t>(visit.frame)});
  if (params) DLHOST_TRY(params_.add(visit));
  return params_.add_factors(visit);
}

} // namespace dlhost::program
