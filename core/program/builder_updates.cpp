// The builder's part for updates: who makes them, and which of them are made as one op.
#include <algorithm>

#include "program/builder_state.h"
#include "program/summed_updates.h"
#include "program/table_updates.h"

namespace dlhost::program {

// The unit whose params a step reads; SIZE_MAX: none.
std::size_t Builder::reader_of_params(const Program::Step& step) const {
  switch (step.act) {
  case Program::Act::feature:
  case Program::Act::gradient: return program_.unit_frames_[step.index].unit;
  case Program::Act::collect: return step.index;
  default: return SIZE_MAX;
  }
}

// Small params on an asynchronous device: their updates are joined into one op. On a synchronous device each update
// runs alone, while its gradient is in the cache.
void Builder::join_updates() {
  if (request_.shared || !program_.device_->traits().asynchronous) return;
  std::vector<Joining> open;
  const auto close = [&](std::vector<Joining>::iterator group) {
    if (group->updates.size() > 1) {
      for (const SlotId gradient : group->gradients) touch(gradient, static_cast<int>(group->last));
      joined_.push_back(std::move(*group));
    }
    return open.erase(group);
  };
  for (std::uint32_t s = 0; s < program_.steps_.size(); ++s) {
    const auto& step = program_.steps_[s];
    if (const auto reader = reader_of_params(step); reader != SIZE_MAX) { // the reader must see the earlier updates
      const auto& read = program_.units_[reader].params;
      for (auto group = open.begin(); group != open.end();) {
        const bool waits = std::ranges::any_of(group->updates, [&](std::uint32_t update) {
          return std::ranges::find(read, program_.updated_[update]) != read.end();
        });
        group = waits ? close(group) : group + 1;
      }
    }
    if (step.act != Program::Act::update) continue;
    const auto likeness = param::likeness_of(*program_.updated_[step.index], rule_);
    if (!likeness) continue;
    auto group = std::ranges::find(open, *likeness, &Joining::likeness);
    if (group == open.end()) group = open.insert(open.end(), {.likeness = *likeness, .updates = {}, .gradients = {}});
    group->updates.push_back(step.index);
    group->gradients.push_back(step.gradient);
    group->last = s;
    group->elements += program_.updated_[step.index]->master.count();
    if (group->updates.size() == param::UpdateTogether::most_params ||
        group->elements >= param::UpdateTogether::most_in_all)
      close(group);
  }
  while (!open.empty()) close(open.begin());
}

// If gradients are summed among devices beside the computing, updates and their gradients wait for the end of the step.
// A step that reads an updated param settles the updates first: an algorithm may visit a layer again.
void Builder::mark_settling() {
  if (!request_.others || request_.updates_at_the_end()) return;
  std::set<const param::Param*> waiting;
  for (auto& step : program_.steps_) {
    if (const auto reader = reader_of_params(step); reader != SIZE_MAX) {
      const auto waits = [&](const param::Param* param) { return waiting.contains(param); };
      step.settles = std::ranges::any_of(program_.units_[reader].params, waits);
      if (step.settles) waiting.clear();
    }
    if (step.act != Program::Act::update) continue;
    waiting.insert(program_.updated_[step.index]);
    touch(step.gradient, here());
  }
}

// Prepares an update of several params. Without an op on the device, each update runs alone.
Status Builder::join(LocalUpdates::Setup& setup, const Joining& joining) {
  std::vector<param::Update*> updates;
  for (const auto update : joining.updates) updates.push_back(setup.updates[update].update.get());
  auto together = param::UpdateTogether::prepare(*request_.store, std::move(updates), rule_, request_.update_settings);
  if (!together.ok()) return together.status().code() == Code::unsupported ? Status() : std::move(together).status();
  LocalUpdates::Joined joined{.updates = joining.updates, .together = *std::move(together), .gradients = {}};
  for (const SlotId gradient : joining.gradients)
    joined.gradients.push_back(program_.slots_[static_cast<std::size_t>(gradient)].data);
  setup.joined.push_back(std::move(joined));
  return {};
}

Result<LocalUpdates::Setup> Builder::local_updates() {
  LocalUpdates::Setup setup{.updates = {},
                            .joined = {},
                            .clip_norm = request_.clip_norm,
                            .loss_scale = program_.loss_scale(),
                            .timings = &program_.timings_,
                            .activity = program_.activity_,
                            .actor = request_.updater_actor};
  for (std::size_t s = 0; s < program_.steps_.size(); ++s) {
    const auto& step = program_.steps_[s];
    if (step.act != Program::Act::update) continue;
    DLHOST_ASSIGN(auto update, param::Update::prepare(*request_.store, *program_.updated_[step.index],
                                                      *request_.updater, rule_, request_.update_settings));
    setup.updates.push_back({.update = std::move(update),
                             .gradient = program_.slots_[static_cast<std::size_t>(step.gradient)].data,
                             .step = s});
  }
  for (const Joining& joining : joined_) DLHOST_TRY(join(setup, joining));
  return setup;
}

// Requires: the slots have memory.
Status Builder::make_exchange() {
  if (request_.sharing) {
    std::unique_ptr<HostCopies> copies;
    if (request_.crosses_beside) {
      DLHOST_ASSIGN(copies, HostCopies::make(*program_.device_, program_.updated_.size()));
    }
    for (auto& call : program_.calls_)
      if (call.leaves) call.beside = copies.get();
    program_.exchange_ = std::make_unique<TableUpdates>(
        *request_.store, *request_.sharing,
        std::vector<const param::Param*>(program_.updated_.begin(), program_.updated_.end()), std::move(copies));
    return {};
  }
  DLHOST_ASSIGN(auto setup, local_updates());
  if (!request_.others) {
    program_.exchange_ = std::make_unique<LocalUpdates>(std::move(setup));
    return {};
  }
  std::vector<SummedUpdates::Gradient> gradients;
  for (const auto& step : program_.steps_)
    if (step.act == Program::Act::update) {
      const Slot& slot = program_.slots_[static_cast<std::size_t>(step.gradient)];
      gradients.push_back({slot.data, static_cast<std::int64_t>(slot.bytes / size_of(slot.desc.dtype))});
    }
  DLHOST_ASSIGN(auto sums,
                GradientSums::make(*program_.device_, *program_.stream_, *request_.others, gradients.size()));
  program_.exchange_ =
      std::make_unique<SummedUpdates>(std::move(setup), std::move(gradients), std::move(sums), *request_.others);
  return {};
}

} // namespace dlhost::program
