#include "program/build/param_gradients.h"

#include <algorithm>

#include "program/build/factors.h"

namespace dlhost::program {

ParamGradients::ParamGradients(const BuildRequest& request, const std::vector<Unit>& units, UnitFrames& frames,
                               Slots& slots, StepList& steps, TensorOps& ops, Contributions& contributions)
    : request_(request), units_(units), frames_(frames), slots_(slots), steps_(steps), ops_(ops),
      contributions_(contributions) {
  for (const auto& visit : request.record.visits) {
    if (visit.kind != Visit::Kind::gradient || !wants_params(visit.wanted)) continue;
    ++visits_[{visit.node, visit.frame}];
    for (auto* param : units[visit.node].params)
      if (!param->declared.frozen) ++awaited_[param];
  }
}

bool ParamGradients::make_slots(const Unit& unit, int frame) {
  bool any = false;
  for (std::size_t p = 0; p < unit.params.size(); ++p) {
    if (unit.params[p]->declared.frozen || unit.params[p]->factors) continue;
    SlotId& gradient = frames_.at(unit.node, frame).param_gradient_slots[p];
    if (gradient == no_slot) gradient = slots_.add(unit.gradient_forms[p], unit.on_host);
    any = true;
  }
  return any;
}

Status ParamGradients::add(const Visit& visit) {
  const Unit& unit = units_[visit.node];
  for (std::size_t p = 0; p < unit.params.size(); ++p) {
    param::Param* param = unit.params[p];
    SlotId gradient = frames_.at(visit.node, visit.frame).param_gradient_slots[p];
    if (gradient == no_slot) continue;
    --awaited_[param];
    if (const TensorDesc master = unit.master_of(p); !master.format.is_any()) {
      DLHOST_ASSIGN(gradient, ops_.reformed(gradient, master, "format"));
    }
    const auto sum = sums_.find(param);
    if (sum == sums_.end()) {
      if (visit.sign != 1 || visits_[{visit.node, visit.frame}] > 1) { // a later pass overwrites it
        DLHOST_ASSIGN(gradient, ops_.scaled(gradient, visit.sign));
      }
      sums_[param] = gradient;
    } else {
      DLHOST_ASSIGN(sum->second, ops_.sum(sum->second, gradient, visit.sign));
    }
  }
  return {};
}

Status ParamGradients::add_factors(const Visit& visit) {
  if (!wants_params(visit.wanted)) return {};
  const Unit& unit = units_[visit.node];
  const auto& at = frames_.at(visit.node, visit.frame);
  for (const auto& declared : unit.described->setup.factors) {
    param::Param* param = unit.params[declared.param];
    if (!param->factors) continue;
    const SlotId x = at.input_slots[declared.input], dy = at.output_gradient_slots[declared.output];
    if (dy == no_slot) continue;
    --awaited_[param];
    const param::Factors own = factors_of(request_, unit, declared);
    DLHOST_TRY(contributions_.add_factor(x, own.x, *param, 0).status());
    DLHOST_ASSIGN(sums_[param], contributions_.add_factor(dy, own.dy, *param, param->factors->dy_at()));
  }
  return {};
}

void ParamGradients::update(const Unit& unit) {
  for (std::size_t p = 0; p < unit.params.size(); ++p) {
    param::Param* const param = unit.params[p];
    const auto gradient = sums_.find(param);
    if (param->declared.frozen || gradient == sums_.end() || awaited_[param] > 0) continue;
    if (std::ranges::find(updated_, param) != updated_.end()) continue;
    param->updated = true;
    if (!unit.holds(p)) continue;
    const auto number = static_cast<std::uint32_t>(updated_.size());
    updated_.push_back(param);
    if (request_.shared && !param->factors) {
      const std::int64_t first = unit.param_places[p] ? unit.param_places[p]->first : 0;
      gradient->second = contributions_.add(gradient->second, *param, static_cast<std::size_t>(first) * sizeof(float));
    }
    if (request_.updates_at_the_end()) slots_[gradient->second].kept = true;
    steps_.touch(gradient->second);
    steps_.push({.act = Act::update, .index = number, .gradient = gradient->second});
  }
}

} // namespace dlhost::program
