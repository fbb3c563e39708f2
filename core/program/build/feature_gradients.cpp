#include "program/build/feature_gradients.h"

namespace dlhost::program {

Status FeatureGradients::sum_outputs(std::size_t unit, int frame) {
  if (!summed_.insert(frames_.index(unit, frame)).second) return {};
  auto& at = frames_.at(unit, frame);
  for (std::size_t o = 0; o < at.output_slots.size(); ++o) {
    DLHOST_ASSIGN(at.output_gradient_slots[o], sum(at.output_slots[o], frame));
  }
  return {};
}

Result<SlotId> FeatureGradients::sum(SlotId feature, int frame) {
  for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
    if (slots_.in_frame(link->from, frame) != feature) continue;
    DLHOST_ASSIGN(const SlotId converted, sum(slots_.in_frame(link->to, frame), frame));
    if (converted == no_slot) continue;
    const Slot from = slots_[link->from];
    Call call{.op = link->backward.get(), .in = {converted}, .what = link->forward ? "format" : "copy"};
    call.direction = link->direction == Direction::to_host ? Direction::from_host : Direction::to_host;
    call.bytes = from.bytes;
    call.out = slots_.add(from.desc, from.on_host);
    contributions_[feature].push_back(call.out);
    steps_.push(std::move(call));
  }
  const auto contributions = std::move(contributions_[feature]);
  contributions_.erase(feature);
  if (contributions.empty()) return no_slot;
  SlotId sum = contributions[0];
  for (std::size_t c = 1; c < contributions.size(); ++c) {
    DLHOST_ASSIGN(sum, ops_.sum(sum, contributions[c]));
  }
  return sum;
}

// If a sum is fused into another layer's op, the gradient has the form of that op; each summand gets its own form.
Status FeatureGradients::pass_on(const Unit& unit, int frame) {
  const auto& at = frames_.at(unit.node, frame);
  const SlotId gradient = at.output_gradient_slots[0];
  for (std::size_t i = 0; i < at.input_slots.size(); ++i) {
    if (!unit.wants_input_gradient[i]) continue;
    const TensorDesc desc = slots_[at.input_slots[i]].desc;
    SlotId passed = gradient;
    if (unit.view) {
      passed = slots_.add(desc, unit.on_host);
      slots_[passed].alias = gradient;
    } else {
      DLHOST_ASSIGN(passed, ops_.reformed(gradient, desc, "format"));
    }
    if (unit.view || passed == gradient)
      sole_.erase(passed);
    else
      sole_.insert(passed);
    contributions_[at.input_slots[i]].push_back(passed);
  }
  return {};
}

Result<SlotId> FeatureGradients::contribute(const Unit& unit, std::size_t input, SlotId feature) {
  const TensorDesc desc = slots_[feature].desc;
  auto& contributions = contributions_[feature];
  const bool adds = input < unit.adds_input_gradient.size() && unit.adds_input_gradient[input];
  if (!adds || contributions.empty()) {
    contributions.push_back(slots_.add(desc, unit.on_host));
    if (adds) ops_.zero(contributions.back());        // no other contribution came first: the sum starts at zero
  } else if (!sole_.contains(contributions.back())) { // others read it unchanged
    DLHOST_ASSIGN(contributions.back(), ops_.scaled(contributions.back(), 1));
  }
  sole_.insert(contributions.back());
  return contributions.back();
}

} // namespace dlhost::program
