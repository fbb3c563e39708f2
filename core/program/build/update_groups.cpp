#include "program/build/update_groups.h"

#include <algorithm>
#include <set>

namespace dlhost::program {
namespace {

// The params that a step reads.
std::span<param::Param* const> params_read(const Step& step, const UnitFrames& frames, const std::vector<Unit>& units) {
  switch (step.act) {
  case Act::feature:
  case Act::gradient: return units[frames[step.index].unit].params;
  case Act::collect: return units[step.index].params;
  default: return {};
  }
}

} // namespace

std::vector<UpdateGroup> group_updates(const ExpandedSteps& made, const std::vector<Unit>& units,
                                       const Updater::Rule& rule, Slots& slots) {
  std::vector<UpdateGroup> closed, open;
  const auto close = [&](std::vector<UpdateGroup>::iterator group) {
    if (group->updates.size() > 1) {
      for (const SlotId gradient : group->gradients) slots.touch(gradient, static_cast<int>(group->last));
      closed.push_back(std::move(*group));
    }
    return open.erase(group);
  };
  for (std::uint32_t s = 0; s < made.steps.size(); ++s) {
    const auto& step = made.steps[s];
    const auto read = params_read(step, made.frames, units); // a reader must see the earlier updates
    for (auto group = open.begin(); group != open.end();) {
      const bool waits = std::ranges::any_of(group->updates, [&](std::uint32_t update) {
        return std::ranges::find(read, made.updated[update]) != read.end();
      });
      group = waits ? close(group) : group + 1;
    }
    if (step.act != Act::update) continue;
    const param::Param& updated = *made.updated[step.index];
    const auto likeness = param::likeness_of(updated, rule);
    if (!likeness) continue;
    auto group = std::ranges::find(open, *likeness, &UpdateGroup::likeness);
    if (group == open.end()) group = open.insert(open.end(), {.likeness = *likeness, .updates = {}, .gradients = {}});
    group->updates.push_back(step.index);
    group->gradients.push_back(step.gradient);
    group->last = s;
    group->elements += updated.master.count();
    if (group->updates.size() == param::UpdateTogether::most_params ||
        group->elements >= param::UpdateTogether::most_in_all)
      close(group);
  }
  while (!open.empty()) close(open.begin());
  return closed;
}

void mark_settling(ExpandedSteps& made, const std::vector<Unit>& units, Slots& slots) {
  std::set<const param::Param*> waiting;
  for (auto& step : made.steps) {
    const auto read = params_read(step, made.frames, units);
    step.settles = std::ranges::any_of(read, [&](const param::Param* param) { return waiting.contains(param); });
    if (step.settles) waiting.clear();
    if (step.act != Act::update) continue;
    waiting.insert(made.updated[step.index]);
    slots.touch(step.gradient, static_cast<int>(made.steps.size()));
  }
}

} // namespace dlhost::program
