#include "run/recovery/succession.h"

#include <algorithm>

#include "record/summary.h"
#include "run/membership/meeting_folder.h"

namespace dlhost::run {

namespace {

constexpr const char* goes_on = "running"; // the status of a run that has not ended

bool is_over(Disk& disk, const std::string& run) {
  const auto of_earlier_end = disk.read_text(may_be_taken_over(run));
  if (!of_earlier_end.ok()) return true;
  const std::string status = record::status_told(disk, run);
  return status != goes_on && status != *of_earlier_end;
}

} // namespace

std::string may_be_taken_over(const std::string& run) { return run + "/may-be-taken-over"; }

Result<bool> permit_takeover(Disk& disk, const std::string& run) {
  const std::string status = record::status_told(disk, run);
  const bool has_ended = status != goes_on;
  DLHOST_TRY(disk.write_text(may_be_taken_over(run), has_ended ? status : ""));
  return has_ended;
}

Result<std::optional<Leadership>> succeed(Host& host, env::Processes& processes, const std::string& run,
                                          const std::string& machine, int dead,
                                          const std::function<Status()>& get_standby) {
  constexpr Nanoseconds pause = 20'000'000, longest = 600'000'000'000;
  Disk& disk = host.disk();
  Clock& clock = host.clock();
  for (const Nanoseconds end = clock.now() + longest; clock.now() < end; clock.sleep(pause)) {
    if (is_over(disk, run)) return std::optional<Leadership>();
    auto leadership = Leadership::take(disk, processes, run, machine, {}, get_standby);
    if (leadership.ok()) return std::optional(*std::move(leadership));
    if (leadership.status().code() != Code::exists) return leadership.status();
    const auto now = Leadership::told(disk, run);
    // A leader among groups that go on waits for the ends of all others; it has a standby by now.
    const bool has_begun = now.ok() && (!now->workers.empty() || !now->going_on.meeting.empty());
    if (has_begun && now->process != dead) return std::optional<Leadership>();
  }
  return Status::timeout("the run in ", run, " has a new leader, which has not started yet");
}

int leader_of(Disk& disk, env::Processes& processes, const std::string& meeting) {
  const auto run = MeetingFolder::bequeathed(disk, meeting);
  if (!run.ok()) return 0;
  const auto leader = Leadership::told(disk, *run);
  const bool leads = leader.ok() && leader->going_on.meeting == meeting && processes.runs(leader->process);
  return leads ? leader->process : 0;
}

void let_workers_go_first(Host& host, env::Processes& processes, const std::string& run, int dead) {
  constexpr Nanoseconds pause = 10'000'000, longest = 10'000'000'000;
  const auto before = Leadership::told(host.disk(), run);
  if (!before.ok() || before->going_on.any(processes)) return;
  Clock& clock = host.clock();
  const auto lives = [&](const RunProcess& worker) { return processes.runs(worker.process); };
  for (const Nanoseconds end = clock.now() + longest; clock.now() < end; clock.sleep(pause)) {
    const auto now = Leadership::told(host.disk(), run);
    if (!now.ok() || now->process != dead || std::ranges::none_of(before->workers, lives)) return;
  }
}

} // namespace dlhost::run
