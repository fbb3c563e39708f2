// The builder's part about small params on a device that works behind the host: their updates wait for one another, and
// are one op. On a device that is done when run() returns each is made while its gradient is in the cache.
#include <algorithm>

#include "program/builder_state.h"

namespace dlhost::program {

// The unit whose params a step reads; SIZE_MAX: none's.
std::size_t Builder::reader_of_params(const Program::Step& step) const {
  switch (step.act) {
  case Program::Act::feature:
  case Program::Act::gradient: return program_.unit_frames_[step.index].unit;
  case Program::Act::collect: return step.index;
  default: return SIZE_MAX;
  }
}

void Builder::join_updates() {
  program_.joined_of_.assign(program_.updated_.size(), 0);
  if (request_.sharing || !program_.device_->traits().asynchronous) return;
  std::vector<Joining> open;
  const auto close = [&](std::vector<Joining>::iterator group) {
    if (group->joined.updates.size() > 1) {
      for (const SlotId gradient : group->joined.gradients) touch(gradient, static_cast<int>(group->last));
      program_.joined_.push_back(std::move(group->joined));
      for (const auto update : program_.joined_.back().updates)
        program_.joined_of_[update] = static_cast<std::uint32_t>(program_.joined_.size());
    }
    return open.erase(group);
  };
  for (std::uint32_t s = 0; s < program_.steps_.size(); ++s) {
    const auto& step = program_.steps_[s];
    if (const auto reader = reader_of_params(step); reader != SIZE_MAX) { // it is to see what was updated before it
      const auto& read = program_.units_[reader].params;
      for (auto group = open.begin(); group != open.end();) {
        const bool waits = std::ranges::any_of(group->joined.updates, [&](std::uint32_t update) {
          return std::ranges::find(read, program_.updated_[update]) != read.end();
        });
        group = waits ? close(group) : group + 1;
      }
    }
    if (step.act != Program::Act::update) continue;
    const auto likeness = param::likeness_of(*program_.updated_[step.index], rule_);
    if (!likeness) continue;
    auto group = std::ranges::find(open, *likeness, &Joining::likeness);
    if (group == open.end()) group = open.insert(open.end(), {.likeness = *likeness, .joined = {}});
    group->joined.updates.push_back(step.index);
    group->joined.gradients.push_back(step.gradient);
    group->last = s;
    group->elements += program_.updated_[step.index]->master.count();
    if (group->joined.updates.size() == param::UpdateTogether::most_params ||
        group->elements >= param::UpdateTogether::most_in_all)
      close(group);
  }
  while (!open.empty()) close(open.begin());
}

// Where gradients are summed with others' beside the computing, updates wait for the step's end, and so do their
// gradients; but not behind who reads what has been updated, since an algorithm may visit a layer again.
void Builder::mark_settling() {
  program_.settles_.assign(program_.steps_.size(), false);
  if (!request_.others || request_.updates_at_the_end()) return;
  std::set<const param::Param*> waiting;
  for (std::size_t s = 0; s < program_.steps_.size(); ++s) {
    const auto& step = program_.steps_[s];
    if (const auto reader = reader_of_params(step); reader != SIZE_MAX) {
      const auto waits = [&](const param::Param* param) { return waiting.contains(param); };
      program_.settles_[s] = std::ranges::any_of(program_.units_[reader].params, waits);
      if (program_.settles_[s]) waiting.clear();
    }
    if (step.act != Program::Act::update) continue;
    waiting.insert(program_.updated_[step.index]);
    touch(step.gradient, here());
  }
}

// What the device has no op for is updated one by one, when each gradient is there.
Status Builder::prepare_joined() {
  for (auto& joined : program_.joined_) {
    std::vector<param::Update*> updates;
    for (const auto update : joined.updates) updates.push_back(program_.updates_[update].get());
    auto together =
        param::UpdateTogether::prepare(*request_.store, std::move(updates), rule_, request_.update_settings);
    if (!together.ok() && together.status().code() != Code::unsupported) return std::move(together).status();
    if (together.ok())
      joined.update = *std::move(together);
    else
      for (const auto update : joined.updates) program_.joined_of_[update] = 0;
    for (const SlotId gradient : joined.gradients)
      joined.data.push_back(program_.slots_[static_cast<std::size_t>(gradient)].data);
  }
  return {};
}

} // namespace dlhost::program
