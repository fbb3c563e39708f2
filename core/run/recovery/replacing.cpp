#include "run/recovery/replacing.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "run/worker/silence.h"

namespace dlhost::run {

void tell_replaced(Host& host, const record::Replacement& told, std::uint64_t step) {
  host.log().write(
      LogLevel::warning,
      fmt::format("worker{} {} {} replaced after {:.2f} s, at step {}; the others made {} steps meanwhile, "
                  "and stood still for {:.2g} s because of it",
                  told.workers.size() == 1 ? "" : "s", fmt::join(told.workers, ", "),
                  told.workers.size() == 1 ? "is" : "are", told.seconds, step, told.others_made, told.others_stood));
}

Status Replacing::look() {
  if (lost_.empty() && !leader_.lost_groups().any()) return {};
  find_lost();
  for (Lost& lost : lost_) DLHOST_TRY(move(lost));
  std::erase_if(lost_, [](const Lost& lost) { return lost.told.seconds > 0; });
  return {};
}

void Replacing::find_lost() {
  const std::uint32_t groups = leader_.place().server_groups;
  for (std::uint32_t group = 1; group < groups; ++group) {
    if (!leader_.lost_groups().has(group) || std::ranges::find(lost_, group, &Lost::group) != lost_.end()) continue;
    Lost lost{.group = group,
              .since = host_.clock().now(),
              .made = leader_.lost_groups().steps_shown(),
              .told = {.workers = leader_.workers_of(group), .step = terms_.step()}};
    begin_anew(lost);
    host_.log().write(LogLevel::warning,
                      fmt::format("{}; the others go on, and worker{} {} {} replaced", lost.told.why,
                                  lost.told.workers.size() == 1 ? "" : "s", fmt::join(lost.told.workers, ", "),
                                  lost.told.workers.size() == 1 ? "is" : "are"));
    lost_.push_back(std::move(lost));
  }
}

// A group is replaced as a whole: what its servers hold is gone with one of them.
void Replacing::begin_anew(Lost& lost) {
  lost.stage = Stage::ending;
  for (const std::uint32_t seat : lost.told.workers)
    if (lost.told.why.empty() && pool_.replaceable()->has_ended(seat))
      lost.told.why = concat("worker ", seat, " is gone: ", pool_.fate(seat));
  for (const std::uint32_t seat : lost.told.workers) pool_.address_book().end(seat);
}

Status Replacing::move(Lost& lost) {
  Replaceable& processes = *pool_.replaceable();
  Admissions& admissions = *pool_.address_book().admissions();
  const auto has_ended = [&](std::uint32_t seat) { return processes.has_ended(seat); };
  const auto& workers = lost.told.workers;
  switch (lost.stage) {
  case Stage::ending:
    return std::ranges::all_of(workers, has_ended) && leader_.lost_groups().has_all(lost.group) &&
                   leader_.lost_groups().may_restart(lost.group)
               ? restart(lost)
               : Status();
  case Stage::coming:
    for (const std::uint32_t seat : workers)
      if (host_.clock().now() - lost.started > before_the_first_step) pool_.address_book().end(seat);
    if (std::ranges::any_of(workers, has_ended)) {
      begin_anew(lost);
      return {};
    }
    if (!leader_.may_admit() || !std::ranges::all_of(workers, [&](auto seat) { return admissions.has_come(seat); }))
      return {};
    lost.stage = Stage::admitting;
    return leader_.admit(lost.group, {.number = lost.number});
  case Stage::admitting:
  case Stage::joining: break;
  }
  if (leader_.lost_groups().has(lost.group)) {
    begin_anew(lost);
    return {};
  }
  if (lost.stage == Stage::admitting && leader_.lost_groups().is_reached()) {
    lost.stage = Stage::joining;
    return admissions.admit(leader_.lost_groups().admission());
  }
  return lost.stage == Stage::joining && leader_.lost_groups().has_joined() ? release(lost) : Status();
}

Status Replacing::restart(Lost& lost) {
  const Status why = Status::gone(lost.told.why);
  if (!terms_.may(why)) return why;
  leader_.lost_groups().give_up_admission();
  DLHOST_ASSIGN(lost.number, pool_.address_book().admissions()->take_number());
  lost.stage = Stage::coming;
  lost.started = host_.clock().now();
  param::StartPoint beginning = leader_.lost_groups().left_by(lost.group);
  beginning.joining = param::Joining{.number = lost.number};
  DLHOST_TRY(pool_.address_book().admissions()->invite(lost.told.workers));
  DLHOST_TRY(pool_.address_book().begin(beginning));
  for (const std::uint32_t seat : lost.told.workers) DLHOST_TRY(pool_.replaceable()->restart(seat, lost.number));
  if (terms_.restarted) terms_.restarted();
  return {};
}

Status Replacing::release(Lost& lost) {
  DLHOST_TRY(leader_.release());
  record::Replacement& told = lost.told;
  told.seconds = std::max(static_cast<double>(host_.clock().now() - lost.since) * 1e-9, 1e-9);
  const auto made = leader_.lost_groups().steps_shown();
  for (std::uint32_t seat = 0; seat < made.size(); ++seat) // those that were replaced meanwhile begin with less
    if (std::ranges::find(told.workers, seat) == told.workers.end())
      told.others_made += made[seat] - std::min(made[seat], lost.made[seat]);
  told.others_stood = static_cast<double>(leader_.take_stood_still()) * 1e-9;
  tell_replaced(host_, told, terms_.step());
  terms_.tell(told);
  return {};
}

} // namespace dlhost::run
