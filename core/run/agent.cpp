#include "run/agent.h"

#include "env/temporary_folder.h"
#include "run/relay.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds patience = 100'000'000;
constexpr Nanoseconds to_save = 10'000'000'000; // that the leader is given

} // namespace

// Whoever interrupts one mostly interrupts all, and the leader saves first.
bool Agent::is_to_leave() {
  if (!interrupted_) return false;
  const Nanoseconds now = host_.clock().now();
  if (leave_at_ == 0) leave_at_ = now + to_save;
  return now > leave_at_;
}

Status Agent::run() {
  while (true) {
    DLHOST_ASSIGN(const auto call, await_call());
    if (call) {
      DLHOST_TRY(attempt(*call, members_.next_attempt()));
    } else {
      members_.leave(is_to_leave() ? "it was interrupted" : "the run is over");
      return {};
    }
  }
}

Result<std::optional<Call>> Agent::await_call() {
  while (!is_to_leave()) {
    const auto said = members_.hear(Told::call(members_.attempts()), patience);
    if (said.ok()) {
      DLHOST_ASSIGN(auto call, Call::read(*said));
      return std::optional(std::move(call));
    }
    if (said.status().code() == Code::cancelled)
      DLHOST_TRY(members_.look());
    else if (said.status().code() != Code::timeout)
      return said.status();
    if (members_.leads())
      return Status::gone(
          "the process that led the run is gone, and the run's folder is on its machine: go on with it there "
          "(dlhost run --resume FOLDER)");
    if (members_.hear(Told::end, Members::glance).ok()) break;
  }
  return std::optional<Call>();
}

// What ends an attempt is the leader's to tell; where it cannot, its workers end by themselves. Whoever comes or goes
// meanwhile changes nothing of it.
Status Agent::watch(WorkerProcesses& workers, std::uint32_t number, const std::vector<std::uint32_t>& seats) {
  bool changed = false;
  while (!is_to_leave()) {
    const auto over = members_.hear(Told::over(number), Members::glance);
    if (over.ok()) return {};
    if (over.status().code() == Code::cancelled) { // what is told from now on is of another epoch
      DLHOST_TRY(members_.look());
      if (members_.leads()) return {};
      changed = true;
    } else if (over.status().code() != Code::timeout) {
      return over.status();
    }
    if (changed && members_.hear(Told::call(0), Members::glance).ok()) return {}; // all begin once more
    if (!changed) hear_and_tell(workers, number, seats);
    if (workers.all_ended()) return {};
    host_.clock().sleep(patience);
  }
  return {};
}

// Who has died here, and who is to be ended.
void Agent::hear_and_tell(WorkerProcesses& workers, std::uint32_t number, const std::vector<std::uint32_t>& seats) {
  for (const std::uint32_t seat : seats)
    if (members_.hear(Told::kill(number, seat), Members::glance).ok()) workers.kill(seat);
  for (const std::uint32_t seat : workers.newly_ended())
    members_.tell(Told::fate(number, seat), workers.fate(seat)).ignore("an epoch is over, and nobody asks");
}

Status Agent::attempt(const Call& call, std::uint32_t number) {
  const auto seats = call.muster.seats_of(members_.rank());
  if (seats.empty()) return {};
  DLHOST_ASSIGN(const auto folder, env::TemporaryFolder::make("dlhost-run-"));
  Disk& disk = host_.disk();
  DLHOST_TRY(disk.write_text(MeetingFolder::job_in(folder.path()), call.job));
  const Posting posting{call.muster.machines, members_.secret(), false};
  DLHOST_TRY(MeetingFolder::write_posting(disk, folder.path(), posting));
  WorkerProcesses workers(host_, registry_, folder.path());
  for (const std::uint32_t seat : seats) DLHOST_TRY(workers.start(seat));
  Relay relay(host_, members_, folder.path(), call.muster, number, [&] {
    hear_and_tell(workers, number, seats);
    if (is_to_leave() || members_.hear(Told::over(number), Members::glance).ok())
      return Status::cancelled("it is over");
    return workers.look();
  });
  Status status;
  if (relay.run().ok()) status = watch(workers, number, seats); // else all have heard why
  MeetingFolder::fail(disk, folder.path(), Status::cancelled("it is over"));
  workers.end();
  return status;
}

} // namespace dlhost::run
