#include "program/local_updates.h"

#include <cmath>

#include <fmt/format.h>

namespace dlhost::program {

LocalUpdates::LocalUpdates(Setup setup) : setup_(std::move(setup)), joined_of_(setup_.updates.size()) {
  for (std::size_t group = 0; group < setup_.joined.size(); ++group)
    for (const std::uint32_t update : setup_.joined[group].updates)
      joined_of_[update] = static_cast<std::uint32_t>(group + 1);
}

const LocalUpdates::Joined* LocalUpdates::joined(std::uint32_t update) const {
  const std::uint32_t place = joined_of_[update];
  return place == 0 ? nullptr : &setup_.joined[place - 1];
}

Status LocalUpdates::apply(std::uint32_t update, const StepInfo& info) {
  const Joined* const group = joined(update);
  if (group && group->updates.back() != update) return {};
  const One& one = setup_.updates[update];
  setup_.activity->enter(setup_.actor, "update", info.step);
  Status status = group ? group->together->run(group->gradients, info.rate, gradient_scale_)
                        : one.update->run(one.gradient, info.rate, gradient_scale_);
  setup_.activity->leave();
  return status;
}

Status LocalUpdates::end_step(const StepInfo& info) { return waits_for_all() ? apply_all(info) : Status(); }

// Clips the gradients by their norm, and skips the step if one of them is not finite.
Status LocalUpdates::apply_all(const StepInfo& info) {
  double squares = 0;
  for (const One& one : setup_.updates)
    DLHOST_TRY(setup_.timings->timed(one.step, [&]() -> Status {
      DLHOST_ASSIGN(const double square, one.update->squared_norm(one.gradient));
      squares += square;
      return {};
    }));
  LossScale* const loss_scale = setup_.loss_scale;
  const double clip = setup_.clip_norm, scale = loss_scale ? loss_scale->value() : 1, norm = std::sqrt(squares) / scale;
  if (loss_scale && !std::isfinite(norm)) return loss_scale->overflowed(info.step);
  if (clip > 0) gradient_norm_ = norm;
  gradient_scale_ = static_cast<float>((clip > 0 && norm > clip ? clip / norm : 1) / scale);
  for (std::uint32_t update = 0; update < setup_.updates.size(); ++update)
    DLHOST_TRY(setup_.timings->timed(step_of(update), [&] { return apply(update, info); }));
  if (loss_scale) loss_scale->went_well();
  return {};
}

void LocalUpdates::resume_at(std::uint64_t updates) {
  for (One& one : setup_.updates) one.update->resume_at(updates);
}

void LocalUpdates::describe(std::uint32_t update, Timing& timing) const {
  const Joined* const group = joined(update);
  if (!group) {
    timing.bytes = setup_.updates[update].update->bytes();
  } else if (group->updates.back() == update) {
    timing.what += fmt::format(" and {} more", group->updates.size() - 1);
    timing.bytes = group->together->bytes();
  }
}

} // namespace dlhost::program
