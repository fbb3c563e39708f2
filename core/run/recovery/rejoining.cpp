#include "run/recovery/rejoining.h"

#include <algorithm>

#include "run/worker/silence.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds between_survivals = 1'000'000;
constexpr Nanoseconds longest_to_notice = 10'000'000'000; // that a group is lost, for a worker that has answered

} // namespace

Status Rejoining::gather() {
  DLHOST_TRY(await_own());
  DLHOST_TRY(pool_.address_book().admissions()->lead());
  param::Joining joining{.number = pool_.address_book().admissions()->number()};
  DLHOST_ASSIGN(joining.lost, await_others());
  joining.order = joining.number; // above all before: each was admitted under a number of its own
  std::vector<std::uint64_t> joins(map().server_groups());
  for (const auto& survival : survivals_) {
    if (!survival) continue;
    // One more: answers to the last alignment may still come.
    joining.times_aligned = std::max(joining.times_aligned, survival->times_aligned + 1);
    for (std::size_t group = 0; group < joins.size(); ++group)
      joins[group] = std::max(joins[group], survival->joins[group]);
  }
  joins[0] = joining.number;
  merge();
  leader_.lost_groups().take_numbers(std::move(joins));
  return pool_.address_book().admissions()->admit(joining);
}

bool Rejoining::waits_too_long() const { return host_.clock().now() - begun_ > before_the_first_step; }

Status Rejoining::await_own() {
  for (const std::uint32_t worker : map().workers_of(0))
    while (!pool_.address_book().admissions()->has_come(worker)) {
      DLHOST_TRY(pool_.look());
      if (waits_too_long()) return Status::gone("worker ", worker, " does not come");
      host_.clock().sleep(between_survivals);
    }
  return {};
}

// A worker that neither answers nor ends hangs. Of a group that lost one, the others end as well.
Result<std::vector<std::uint32_t>> Rejoining::await_others() {
  std::optional<Nanoseconds> answered;
  while (true) {
    DLHOST_TRY(pool_.look());
    survivals_.assign(map().workers(), std::nullopt);
    bool all = true;
    std::vector<std::uint32_t> lost;
    for (std::uint32_t group = 1; group < map().server_groups(); ++group) {
      const auto workers = map().workers_of(group);
      const bool is_lost =
          std::ranges::any_of(workers, [this](auto worker) { return pool_.replaceable()->has_ended(worker); });
      if (is_lost) lost.push_back(group);
      for (const std::uint32_t worker : workers) {
        if (is_lost) pool_.address_book().end(worker);
        if (is_lost) continue;
        DLHOST_ASSIGN(survivals_[worker], pool_.address_book().admissions()->survival(worker));
        if (!fits(survivals_[worker]))
          return Status::corrupt("worker ", worker, " goes on with other workers or params than this one has");
        all = all && survivals_[worker];
        if (!survivals_[worker] && waits_too_long()) pool_.address_book().end(worker);
      }
    }
    if (lost.size() + 1 == map().server_groups()) return Status::gone("no server group is left that goes on");
    if (all) {
      DLHOST_ASSIGN(const bool is_known, is_known_what_these_left(lost));
      if (is_known) return lost;
      if (!answered) answered = host_.clock().now();
      if (host_.clock().now() - *answered > longest_to_notice)
        return Status::gone("the processes that go on have not noticed that a server group is lost");
    }
    host_.clock().sleep(between_survivals);
  }
}

bool Rejoining::fits(const std::optional<Survival>& survival) const {
  if (!survival) return true;
  const auto fits = [this](const param::StartPoint::OfSlice& slice) {
    return slice.steps.size() == map().workers() && slice.others.size() + 1 == map().server_groups();
  };
  const auto is_group = [this](std::uint32_t group) { return group < map().server_groups(); };
  return survival->joins.size() == map().server_groups() && survival->left.steps.size() == map().workers() &&
         survival->left.slices.size() == leader_.ends().slices().size() &&
         std::ranges::all_of(survival->left.slices, fits) && std::ranges::all_of(survival->lost, is_group);
}

// A worker that saw a lost group tells what that group left, once it has noticed the loss.
Result<bool> Rejoining::is_known_what_these_left(std::span<const std::uint32_t> lost) const {
  const auto any_has = [this](std::vector<std::uint32_t> Survival::*groups, std::uint32_t group) {
    return std::ranges::any_of(survivals_, [&](const auto& survival) {
      return survival && std::ranges::find((*survival).*groups, group) != ((*survival).*groups).end();
    });
  };
  for (const std::uint32_t group : lost) {
    if (any_has(&Survival::lost, group)) continue;
    if (!any_has(&Survival::seen, group))
      return Status::gone("no process is left that saw what server group ", group, " had learned");
    return false;
  }
  return true;
}

// Of a lost group, those that saw it know the same. Others may have seen steps that it had not told.
void Rejoining::merge() {
  for (const auto& survival : survivals_) {
    if (!survival) continue;
    if (left_.steps.empty()) left_ = survival->left;
    for (std::uint32_t worker = 0; worker < map().workers(); ++worker)
      left_.steps[worker] = std::max(left_.steps[worker], survival->left.steps[worker]);
  }
  for (const auto& survival : survivals_)
    for (std::size_t which = 0; survival && which < survival->lost.size(); ++which)
      take_left_by(survival->lost[which], survival->left);
  left_.sum_up();
}

void Rejoining::take_left_by(std::uint32_t group, const param::StartPoint& said) {
  for (const std::uint32_t worker : map().workers_of(group)) left_.steps[worker] = said.steps[worker];
  for (std::size_t slice = 0; slice < left_.slices.size(); ++slice) {
    auto& there = left_.slices[slice];
    const auto& of_slice = said.slices[slice];
    (group == 0 ? there.version : there.others[group - 1]) = group == 0 ? of_slice.version : of_slice.others[group - 1];
    for (const std::uint32_t worker : map().workers_of(group)) there.steps[worker] = of_slice.steps[worker];
  }
}

record::Replacement Rejoining::told(std::string why) {
  record::Replacement told{.workers = map().workers_of(0), .why = std::move(why)};
  const Nanoseconds now = host_.clock().now();
  Nanoseconds lost_at = begun_;
  const auto made = leader_.lost_groups().steps_shown();
  told.step = left_.of_group(0, map().workers_of_group());
  for (std::uint32_t worker = 0; worker < map().workers(); ++worker)
    if (const auto& survival = survivals_[worker]) {
      lost_at = std::min(lost_at, survival->lost_at);
      told.others_made += made[worker] - std::min(made[worker], survival->steps_before);
    }
  told.seconds = std::max(static_cast<double>(now - lost_at) * 1e-9, 1e-9);
  if (std::ranges::any_of(survivals_, [](const auto& survival) { return survival && survival->rests; }))
    told.others_stood = told.seconds;
  return told;
}

} // namespace dlhost::run
