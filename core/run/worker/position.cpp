#include "run/worker/position.h"

#include <algorithm>

namespace dlhost::run {

Status Position::hear_undecided(std::uint32_t from, const param::to_worker::Undecided& message) {
  const bool is_asked = unanswered_ > 0 && message.group < ends_.layout.map.groups() &&
                        from == ends_.layout.map.home_of(ends_.layout.map.server_group_of(
                                    message.group * ends_.layout.map.workers_of_group()));
  if (!is_asked)
    return Status::corrupt("worker ", from, " tells which steps of group ", message.group,
                           " are undecided, which this worker did not ask");
  --unanswered_;
  undecided_[message.group] = message.first;
  return {};
}

Status Position::ask_for_undecided() {
  undecided_.assign(ends_.layout.map.groups(), 0);
  unanswered_ = ends_.layout.map.groups();
  for (std::uint32_t group = 0; group < ends_.layout.map.server_groups(); ++group)
    DLHOST_TRY(ends_.table->send(ends_.layout.map.home_of(group), param::to_chooser::Complete()));
  return ends_.table->wait_until(
      [this] { return ends_.waits.is_over(unanswered_ == 0, Waits::on(Awaited::What::answers)); });
}

// A worker may repeat steps because others of its group had not come that far: these steps are in already. Of some
// slices, steps that it was to repeat from the beginning on are in too, though it has not come to them yet. If groups
// are chosen for whole steps, a step that only some workers of a group have sent is in no version.
Status Position::find() {
  DLHOST_TRY(ends_.waits.until_answered(*ends_.table, &param::Table::look));
  param::StartPoint reached{.others = std::vector<Version>(ends_.layout.map.server_groups() - 1), .own_values = true};
  const auto done = [&](std::uint32_t worker) {
    return std::max(ends_.steps.begun.steps[worker], ends_.memory.vitals(worker).steps.load(std::memory_order_acquire));
  };
  for (std::uint32_t worker = 0; worker < ends_.layout.map.workers(); ++worker) reached.steps.push_back(done(worker));
  for (std::uint32_t group = 0; ends_.layout.exchange.by_step && group < ends_.layout.map.groups(); ++group) {
    std::uint64_t steps = reached.of_group(group, ends_.layout.map.workers_of_group());
    if (!undecided_.empty()) steps = std::min(steps, undecided_[group]);
    std::fill_n(reached.steps.begin() + group * ends_.layout.map.workers_of_group(),
                ends_.layout.map.workers_of_group(), steps);
  }
  undecided_.clear();
  for (const param::Slice& slice : ends_.slices().all()) {
    auto& there = reached.slices.emplace_back(
        param::StartPoint::OfSlice{.version = ends_.table->version(slice.id), .steps = reached.steps, .others = {}});
    for (std::uint32_t worker = 0; worker < ends_.layout.map.workers(); ++worker)
      there.steps[worker] = std::max(there.steps[worker], ends_.steps.begun.steps_of(slice.id)[worker]);
    for (std::uint32_t group = 1; group < ends_.layout.map.server_groups(); ++group)
      there.others.push_back(!alignment_.any() ? ends_.steps.reached.version_of(slice.id, group)
                                               : alignment_.of(group, slice.id).version);
  }
  lost_.count_in(reached);
  reached.sum_up();
  if (!ends_.layout.exchange.has_servers())
    reached.version = reached.of_group(0, ends_.layout.map.workers_of_group()); // as many as servers would have made
  ends_.steps.reached = std::move(reached);
  return {};
}

} // namespace dlhost::run
