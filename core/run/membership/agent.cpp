#include "run/membership/agent.h"

#include <algorithm>

#include "env/temporary_folder.h"
#include "run/membership/contact_relay.h"
#include "run/recovery/leadership.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds patience = 100'000'000;
constexpr Nanoseconds to_save = 10'000'000'000;    // that the leader is given
constexpr Nanoseconds to_release = 20'000'000'000; // and then, to do without this member's workers
constexpr Nanoseconds to_succeed = 10'000'000'000; // that those are given who see the run's folder

} // namespace

// Whoever interrupts one mostly interrupts all, and the leader saves first.
bool Agent::is_to_leave() {
  if (!interrupted_) return false;
  const Nanoseconds now = host_.clock().now();
  if (leave_at_ == 0) leave_at_ = now + to_save;
  return now > leave_at_;
}

bool Agent::is_to_leave_at_once() { return is_to_leave() && host_.clock().now() > leave_at_ + to_release; }

// One that was to leave, and is out because its machine was too slow to say so, has left.
Result<std::optional<Takeover>> Agent::run() {
  auto left = follow();
  if (!left.ok() && interrupted_ && members_.is_out()) return std::optional<Takeover>();
  return left;
}

Result<std::optional<Takeover>> Agent::follow() {
  if (!members_.has_lost()) settled_ = members_.epoch(); // the lowest rank begins
  while (true) {
    DLHOST_ASSIGN(const auto call, await_call());
    if (call) {
      DLHOST_TRY(attempt(*call, members_.next_attempt()));
    } else if (members_.leads()) {
      return std::optional(sees_the_run() ? takeover_ : Takeover());
    } else {
      members_.leave(is_to_leave() ? "it was interrupted" : "the run is over");
      return std::optional<Takeover>();
    }
  }
}

Result<std::optional<AttemptPlan>> Agent::await_call() {
  const Nanoseconds begin = host_.clock().now();
  while (!is_to_leave()) {
    const auto said = members_.hear(Told::call(members_.attempts()), patience);
    if (said.ok()) {
      settled_ = members_.epoch();
      DLHOST_ASSIGN(auto call, AttemptPlan::read(*said));
      return std::optional(std::move(call));
    }
    if (said.status().code() == Code::cancelled)
      DLHOST_TRY(members_.look());
    else if (said.status().code() != Code::timeout)
      return said.status();
    if (const auto end = members_.hear(Told::end, Members::glance); end.ok()) {
      if (!end->empty()) return Status::gone(*end);
      break;
    }
    if (settled_ != members_.epoch()) DLHOST_TRY(succeed(host_.clock().now() - begin));
    if (members_.leads()) break;
  }
  return std::optional<AttemptPlan>();
}

// Somebody has gone, and it may have been who led. Who sees the run's folder tries at once; who does not leaves them
// the time for it.
Status Agent::succeed(Nanoseconds waited) {
  const bool heir = sees_the_run();
  if (!heir && waited < to_succeed) return {};
  const std::uint32_t epoch = members_.epoch();
  DLHOST_TRY(members_.try_to_lead());
  if (!members_.leads()) settled_ = epoch;
  if (!members_.leads() || heir || may_begin_) return {};
  Status status = Status::gone("the process that led the run is gone, and nobody else sees the run's folder",
                               takeover_.run.empty() ? "" : concat(" ", takeover_.run),
                               ": go on with it on that machine (dlhost run --resume FOLDER); of a folder that all "
                               "machines share, the others go on by themselves");
  members_.dismiss(host_.clock(), status.message());
  return status;
}

bool Agent::sees_the_run() const {
  if (takeover_.run.empty()) return false;
  const auto told = Leadership::told(host_.disk(), takeover_.run);
  return told.ok() && told->mark == takeover_.mark;
}

// What ends an attempt is the leader's to tell; where it cannot, its workers end by themselves. Whoever comes or goes
// meanwhile changes nothing of it. A member that is to leave says so and keeps its workers: were they to end first, the
// leader would take them for dead.
Status Agent::watch(WorkerProcesses& workers, std::uint32_t number, const Assignment& assignment) {
  const auto seats = assignment.seats_of(members_.rank());
  bool changed = false, knows_will = !takeover_.run.empty();
  while (!is_to_leave_at_once()) {
    if (is_to_leave()) members_.announce_leave();
    const auto over = members_.hear(Told::over(number), Members::glance);
    if (over.ok()) return {};
    if (over.status().code() == Code::cancelled) { // what is told from now on is of another epoch
      DLHOST_TRY(members_.look());
      if (std::ranges::find(members_.all(), assignment.ranks.front(), &Member::rank) == members_.all().end()) return {};
      changed = true;
    } else if (over.status().code() != Code::timeout) {
      return over.status();
    }
    if (changed && members_.hear(Told::call(0), Members::glance).ok()) return {}; // all begin once more
    if (!changed) hear_and_tell(workers, number, seats);
    if (!changed && !knows_will) knows_will = hear_will(number);
    if (workers.all_ended()) return {};
    host_.clock().sleep(patience);
  }
  return {};
}

bool Agent::hear_will(std::uint32_t number) {
  const auto said = members_.hear(Told::takeover(number), Members::glance);
  if (!said.ok()) return false;
  if (auto takeover = Takeover::read(*said); takeover.ok()) takeover_ = *std::move(takeover);
  return true;
}

// Who has died here, and who is to be ended.
void Agent::hear_and_tell(WorkerProcesses& workers, std::uint32_t number, const std::vector<std::uint32_t>& seats) {
  for (const std::uint32_t seat : seats)
    if (members_.hear(Told::kill(number, seat), Members::glance).ok()) workers.kill(seat);
  for (const std::uint32_t seat : workers.newly_ended())
    members_.tell(Told::fate(number, seat), workers.fate(seat)).ignore("an epoch is over, and nobody asks");
}

Status Agent::attempt(const AttemptPlan& call, std::uint32_t number) {
  takeover_ = call.takeover;
  const auto seats = call.assignment.seats_of(members_.rank());
  if (seats.empty()) return {};
  DLHOST_ASSIGN(const auto folder, env::TemporaryFolder::make("dlhost-run-"));
  Disk& disk = host_.disk();
  DLHOST_TRY(disk.write_text(MeetingFolder::job_in(folder.path()), call.job));
  const Posting posting{.machines = call.assignment.machines,
                        .secret = members_.secret(),
                        .by_leader = false,
                        .epoch = call.epoch,
                        .host_name = members_.host()};
  DLHOST_TRY(MeetingFolder::write_posting(disk, folder.path(), posting));
  WorkerProcesses workers(host_, registry_, folder.path());
  for (const std::uint32_t seat : seats) DLHOST_TRY(workers.start(seat));
  ContactRelay relay(host_, members_, folder.path(), call.assignment, number, [&] {
    hear_and_tell(workers, number, seats);
    if (is_to_leave_at_once() || members_.hear(Told::over(number), Members::glance).ok())
      return Status::cancelled("it is over");
    return workers.look();
  });
  Status status;
  if (relay.run().ok()) status = watch(workers, number, call.assignment); // else all have heard why
  MeetingFolder::fail(disk, folder.path(), Status::cancelled("it is over"));
  workers.end().ignore("what they said is in the log");
  return status;
}

} // namespace dlhost::run
