// The builder's second part: from the recorded visits to the program's steps, and the sums of gradients.
#include <algorithm>

#include <fmt/format.h>

#include "config/problems.h"
#include "program/builder_state.h"

namespace dlhost::program {

SlotId Builder::in_frame(SlotId slot, int frame) const { return slot == no_slot ? slot : slot + frame * frame_slots_; }

Program::UnitFrame& Builder::unit_frame(std::size_t unit, int frame) {
  return program_.unit_frames_[unit * static_cast<std::size_t>(program_.frames_) + static_cast<std::size_t>(frame)];
}

void Builder::touch(SlotId slot, int step) {
  if (slot == no_slot) return;
  Slot& touched = program_.slots_[static_cast<std::size_t>(slot)];
  touched.first = std::min(touched.first, step);
  touched.last = std::max(touched.last, step);
}

void Builder::may_replace(SlotId written, SlotId read, int step) {
  if (written != no_slot && read != no_slot) replacements_.push_back({written, read, step});
}

Status Builder::expand() {
  const auto frames = static_cast<std::size_t>(program_.frames_);
  frame_slots_ = static_cast<SlotId>(program_.slots_.size());
  for (int f = 1; f < program_.frames_; ++f)
    for (SlotId s = 0; s < frame_slots_; ++s) {
      Slot slot = program_.slots_[static_cast<std::size_t>(s)];
      slot.alias = in_frame(slot.alias, f);
      program_.slots_.push_back(slot);
    }
  program_.unit_frames_.resize(program_.units_.size() * frames);
  for (std::size_t u = 0; u < program_.units_.size(); ++u)
    for (int f = 0; f < program_.frames_; ++f) {
      const Unit& unit = program_.units_[u];
      auto& here = unit_frame(u, f);
      here.unit = u;
      for (auto slot : unit.inputs) here.input_slots.push_back(in_frame(slot, f));
      for (auto slot : unit.outputs) here.output_slots.push_back(in_frame(slot, f));
      for (auto slot : unit.buffer_slots) here.buffer_slots.push_back(in_frame(slot, f));
      here.output_gradient_slots.assign(unit.outputs.size(), no_slot);
      here.input_gradient_slots.assign(unit.inputs.size(), no_slot);
      here.param_gradient_slots.assign(unit.params.size(), no_slot);
    }
  const auto& visits = request_.record.visits;
  for (const auto& visit : visits)
    if (visit.kind == Visit::Kind::gradient && wants_params(visit.wanted)) {
      ++param_visits_[{visit.node, visit.frame}];
      for (auto* param : program_.units_[visit.node].params)
        if (!param->declared.frozen) ++awaited_[param];
    }

  // Losses are checked after the last feature: with the usual algorithms before any update. By then all data of this
  // step has arrived, so the feeder may reuse its memory.
  const auto is_feature = [](const Visit& visit) { return visit.kind == Visit::Kind::feature; };
  const auto last_feature = std::ranges::find_if(visits.rbegin(), visits.rend(), is_feature);
  for (const auto& visit : visits) {
    DLHOST_TRY(emit(visit));
    if (&visit == &*last_feature) program_.steps_.push_back({.act = Program::Act::check_losses});
  }
  join_updates();
  mark_settling();
  return {};
}

Status Builder::emit(const Visit& visit) {
  switch (visit.kind) {
  case Visit::Kind::collect:
    if (!program_.units_[visit.node].params.empty())
      program_.steps_.push_back({.act = Program::Act::collect, .index = static_cast<std::uint32_t>(visit.node)});
    return {};
  case Visit::Kind::feature: emit_feature(visit); return {};
  case Visit::Kind::gradient: return emit_gradient(visit);
  case Visit::Kind::update: return emit_update(visit);
  }
  return {};
}

void Builder::emit_links(SlotId from, int frame) {
  for (std::size_t i = 0; i < program_.links_.size(); ++i) {
    const Link& link = program_.links_[i];
    if (link.from != from) continue;
    Program::Call call;
    call.op = link.forward.get();
    call.in = {in_frame(link.from, frame)};
    call.out = in_frame(link.to, frame);
    call.direction = link.direction;
    call.bytes = program_.slots_[static_cast<std::size_t>(link.from)].bytes;
    call.what = link.forward ? "format" : "copy";
    push_call(std::move(call));
    emit_links(link.to, frame);
  }
}

// Emits the wait for a source once, before the first frame reads it: the batch arrives as a whole.
void Builder::emit_arrival(std::size_t source) {
  const Program::Step arrival{.act = Program::Act::arrive, .index = static_cast<std::uint32_t>(source)};
  const auto is_arrival = [&](const Program::Step& step) {
    return step.act == arrival.act && step.index == arrival.index;
  };
  bool any = false;
  for (std::size_t o = 0; o < program_.units_[source].outputs.size(); ++o)
    any = any || program_.takes_delivered(source, o);
  if (any && std::ranges::none_of(program_.steps_, is_arrival)) program_.steps_.push_back(arrival);
}

void Builder::emit_feature(const Visit& visit) {
  const Unit& unit = program_.units_[visit.node];
  const auto& slots = unit_frame(visit.node, visit.frame);
  folded_[static_cast<std::size_t>(&slots - program_.unit_frames_.data())] = false;
  if (unit.feature_fused) return;
  if (!unit.described->source && !unit.view) {
    for (auto slot : slots.input_slots) {
      // Read before it is ever written in a step: it carries its value over from the step before.
      Slot& read = program_.slots_[static_cast<std::size_t>(slot)];
      if (read.last < 0 && !read.external && read.alias == no_slot) read.kept = true;
      touch(slot, here());
    }
    for (auto slot : slots.output_slots) touch(slot, here());
    for (auto slot : slots.buffer_slots) touch(slot, here());
    if (unit.described->setup.in_place) may_replace(slots.output_slots[0], slots.input_slots[0], here());
    if (unit.epilogue_addend != SIZE_MAX)
      may_replace(slots.output_slots[0], slots.input_slots[unit.epilogue_addend], here());
    program_.steps_.push_back({.act = Program::Act::feature,
                               .sweep = visit.sweep,
                               .index = static_cast<std::uint32_t>(&slots - program_.unit_frames_.data()),
                               .frame = static_cast<std::uint32_t>(visit.frame)});
  }
  if (unit.described->source) emit_arrival(visit.node);
  for (auto slot : unit.outputs) emit_links(slot, visit.frame);
}

Result<Op*> Builder::adder(const TensorDesc& desc, bool first) {
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
  DLHOST_ASSIGN(auto op, program_.device_->prepare(spec));
  program_.ops_.push_back(std::move(op));
  return adders_[key] = program_.ops_.back().get();
}

void Builder::push_call(Program::Call call) {
  for (auto slot : call.in) touch(slot, here());
  touch(call.out, here());
  program_.steps_.push_back({.act = Program::Act::call, .index = static_cast<std::uint32_t>(program_.calls_.size())});
  program_.calls_.push_back(std::move(call));
}

Result<SlotId> Builder::emit_call(Op* op, std::vector<SlotId> in, const TensorDesc& out, float scalar,
                                  const char* what) {
  Program::Call call{.op = op, .in = std::move(in), .scalar = scalar, .what = what};
  call.out = new_slot(out, false);
  const SlotId result = call.out;
  if (out == program_.slots_[static_cast<std::size_t>(call.in[0])].desc) // a sum may take a summand's place
    for (auto slot = call.in.rbegin(); slot != call.in.rend(); ++slot) may_replace(result, *slot, here());
  push_call(std::move(call));
  return result;
}

// Sums the contributions into one slot.
Status Builder::add_up(std::vector<SlotId>& contributions) {
  while (contributions.size() > 1) {
    const TensorDesc desc = program_.slots_[static_cast<std::size_t>(contributions[0])].desc;
    DLHOST_ASSIGN(Op * op, adder(desc, false));
    DLHOST_ASSIGN(contributions[1], emit_call(op, {contributions[0], contributions[1]}, desc, 1, "sum"));
    contributions.erase(contributions.begin());
  }
  return {};
}

// The gradient of a feature: the sum of its readers' contributions, including those through its links.
Result<SlotId> Builder::fold(SlotId feature, int frame) {
  for (std::size_t i = program_.links_.size(); i-- > 0;) {
    if (in_frame(program_.links_[i].from, frame) != feature) continue;
    DLHOST_ASSIGN(const SlotId behind, fold(in_frame(program_.links_[i].to, frame), frame));
    if (behind == no_slot) continue;
    const Link& link = program_.links_[i];
    const Slot from = program_.slots_[static_cast<std::size_t>(link.from)];
    Program::Call call{.op = link.backward.get(), .in = {behind}, .what = link.forward ? "format" : "copy"};
    call.direction = link.direction == Direction::to_host ? Direction::from_host : Direction::to_host;
    call.bytes = from.bytes;
    call.out = new_slot(from.desc, from.on_host);
    contributions_[feature].push_back(call.out);
    push_call(std::move(call));
  }
  auto contributions = std::move(contributions_[feature]);
  contributions_.erase(feature);
  if (contributions.empty()) return no_slot;
  DLHOST_TRY(add_up(contributions));
  return contributions[0];
}

Status Builder::fold_outputs(std::size_t unit, int frame) {
  auto& slots = unit_frame(unit, frame);
  bool& folded = folded_[static_cast<std::size_t>(&slots - program_.unit_frames_.data())];
  if (folded) return {};
  folded = true;
  for (std::size_t o = 0; o < slots.output_slots.size(); ++o) {
    DLHOST_ASSIGN(slots.output_gradient_slots[o], fold(slots.output_slots[o], frame));
  }
  return {};
}

// The slot in the wanted form; emits a reorder if the forms differ.
Result<SlotId> Builder::reformed(SlotId from, const TensorDesc& wanted, const char* what) {
  const TensorDesc desc = program_.slots_[static_cast<std::size_t>(from)].desc;
  if (desc == wanted) return from;
  DLHOST_ASSIGN(auto op, program_.device_->prepare(ReorderSpec{desc, wanted}));
  DLHOST_ASSIGN(const SlotId made, emit_call(op.get(), {from}, wanted, 1, what));
  program_.ops_.push_back(std::move(op));
  return made;
}

// A sum or a view passes its gradient on. If the sum is fused into another layer's op, the gradient has the form of
// that op; each summand gets its own form.
Status Builder::pass_gradient_on(Unit& unit, const Visit& visit, SlotId gradient) {
  const auto& slots = unit_frame(visit.node, visit.frame);
  for (std::size_t i = 0; i < slots.input_slots.size(); ++i) {
    if (!unit.wants_input_gradient[i]) continue;
    const TensorDesc desc = program_.slots_[static_cast<std::size_t>(slots.input_slots[i])].desc;
    SlotId passed = gradient;
    if (unit.view) {
      passed = new_slot(desc, unit.on_host);
      program_.slots_[static_cast<std::size_t>(passed)].alias = gradient;
    } else {
      DLHOST_ASSIGN(passed, reformed(gradient, desc, "format"));
    }
    if (unit.view || passed == gradient)
      sole_.erase(passed);
    else
      sole_.insert(passed);
    contributions_[slots.input_slots[i]].push_back(passed);
  }
  return {};
}

// The slot for a layer's contribution to a feature's gradient: a new one, or the last contribution if the layer adds to
// it.
Result<SlotId> Builder::input_gradient(const Unit& unit, std::size_t input, SlotId feature) {
  const TensorDesc desc = program_.slots_[static_cast<std::size_t>(feature)].desc;
  auto& contributions = contributions_[feature];
  const bool adds = input < unit.adds_input_gradient.size() && unit.adds_input_gradient[input];
  if (!adds || contributions.empty()) {
    contributions.push_back(new_slot(desc, unit.on_host));
    if (adds) { // no other contribution came first: the sum starts at zero
      Program::Call zero{.out = contributions.back(), .what = "zero"};
      zero.bytes = program_.slots_[static_cast<std::size_t>(zero.out)].bytes;
      push_call(std::move(zero));
    }
  } else if (!sole_.contains(contributions.back())) { // others read it unchanged
    DLHOST_ASSIGN(Op * copy, adder(desc, true));
    DLHOST_ASSIGN(contributions.back(), emit_call(copy, {contributions.back()}, desc, 1, "sum"));
  }
  sole_.insert(contributions.back());
  return contributions.back();
}

Status Builder::emit_gradient(const Visit& visit) {
  Unit& unit = program_.units_[visit.node];
  const net::Node& node = *unit.described;
  if (passed_through_[visit.node] || !node.needs_gradient) return {};
  DLHOST_TRY(fold_outputs(visit.node, visit.frame));
  auto& slots = unit_frame(visit.node, visit.frame);
  const bool reached =
      node.setup.is_loss || std::ranges::any_of(slots.output_gradient_slots, [](SlotId s) { return s != no_slot; });
  if (!reached && request_.needs_loss) {
    if (!node.live) return {};
    return config::invalid_at(node.where, "layer '", node.name,
                              "' has params that learn, but no loss depends on it; connect it, remove it, "
                              "or freeze its params (param.NAME.frozen = true)");
  }
  if (node.setup.is_sum || unit.view) {
    return wants_inputs(visit.wanted) ? pass_gradient_on(unit, visit, slots.output_gradient_slots[0]) : Status();
  }
  bool inputs = false, params = false;
  for (std::size_t i = 0; wants_inputs(visit.wanted) && i < slots.input_slots.size(); ++i) {
    if (!unit.wants_input_gradient[i]) continue;
    if (slots.input_gradient_slots[i] != no_slot)
      return Status::unsupported("the algorithm asks twice in one frame for the input gradients of layer '", node.name,
                                 "'; a second sweep needs its own frame");
    DLHOST_ASSIGN(slots.input_gradient_slots[i], input_gradient(unit, i, slots.input_slots[i]));
    inputs = true;
  }
  for (std::size_t p = 0; wants_params(visit.wanted) && p < unit.params.size(); ++p) {
    if (unit.params[p]->declared.frozen || unit.params[p]->factors) continue;
    SlotId& gradient = slots.param_gradient_slots[p]; // a later sweep uses the same slot
    if (gradient == no_slot) gradient = new_slot(unit.gradient_forms[p], unit.on_host);
    params = true;
  }
  if (!inputs && !params) return send_factors(visit);
  const int step = here();
  if (inputs)
    for (auto slot : slots.input_gradient_slots) touch(slot, step);
  if (params)
    for (auto slot : slots.param_gradient_slots) touch(slot, step);
  for (auto slot : slots.output_gradient_slots) touch(slot, step);
  if (node.setup.reads.inputs) // the layer's own inputs: no gradient needs an epilogue's addend
    for (std::size_t i = 0; i < node.setup.inputs.size(); ++i) touch(slots.input_slots[i], step);
  if (node.setup.reads.outputs || unit.reads_output)
    for (auto slot : slots.output_slots) touch(slot, step);
  for (auto slot : slots.buffer_slots) touch(slot, step);
  if (node.setup.in_place && inputs && !params && !node.setup.is_loss)
    may_replace(slots.input_gradient_slots[0], slots.output_gradient_slots[0], step);
  const auto wanted = static_cast<Wanted>((inputs ? 1 : 0) | (params ? 2 : 0));
  program_.steps_.push_back({.act = Program::Act::gradient,
                             .wanted = wanted,
                             .sweep = visit.sweep,
                             .index = static_cast<std::uint32_t>(&slots - program_.unit_frames_.data()),
                             .frame = static_cast<std::uint32_t>(visit.frame)});
  if (params) DLHOST_TRY(add_param_gradients(visit));
  return send_factors(visit);
}

// Sums a param's contributions of this step: from all frames, sweeps and layers that share it.
Status Builder::add_param_gradients(const Visit& visit) {
  const Unit& unit = program_.units_[visit.node];
  for (std::size_t p = 0; p < unit.params.size(); ++p) {
    param::Param* param = unit.params[p];
    SlotId gradient = unit_frame(visit.node, visit.frame).param_gradient_slots[p];
    if (gradient == no_slot) continue;
    --awaited_[param];
    if (!param->master.format.is_any()) {
      DLHOST_ASSIGN(gradient, reformed(gradient, param->master, "format"));
    }
    const auto sum = param_gradient_.find(param);
    const TensorDesc desc = program_.slots_[static_cast<std::size_t>(gradient)].desc;
    if (sum == param_gradient_.end()) {
      if (visit.sign != 1 || param_visits_[{visit.node, visit.frame}] > 1) { // a later pass overwrites it
        DLHOST_ASSIGN(Op * scale, adder(desc, true));
        DLHOST_ASSIGN(gradient, emit_call(scale, {gradient}, desc, visit.sign, "sum"));
      }
      param_gradient_[param] = gradient;
    } else {
      DLHOST_ASSIGN(Op * add, adder(desc, false));
      DLHOST_ASSIGN(sum->second, emit_call(add, {sum->second, gradient}, desc, visit.sign, "sum"));
    }
  }
  return {};
}

Status Builder::emit_update(const Visit& visit) {
  Unit& unit = program_.units_[visit.node];
  for (auto* param : unit.params) {
    const auto gradient = param_gradient_.find(param);
    if (param->declared.frozen || gradient == param_gradient_.end() || awaited_[param] > 0) continue;
    const auto [update, fresh] = update_of_.try_emplace(param, update_of_.size());
    if (!fresh) continue;
    program_.updated_.push_back(param);
    param->updated = true;
    if (request_.shared && !param->factors) {
      if (request_.store->apart())
        gradient->second = left_on_host(gradient->second, *param, 0);
      else
        share(gradient->second, *param, 0);
    }
    if (request_.updates_at_the_end()) program_.slots_[static_cast<std::size_t>(gradient->second)].kept = true;
    touch(gradient->second, here());
    program_.steps_.push_back({.act = Program::Act::update,
                               .index = static_cast<std::uint32_t>(update->second),
                               .gradient = gradient->second});
  }
  return {};
}

} // namespace dlhost::program
