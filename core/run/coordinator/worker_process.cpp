#include "run/coordinator/worker_process.h"

#include <optional>
#include <utility>

#include "run/membership/meeting_folder.h"

namespace dlhost::run {

Status work(Host& host, const WorkerProcess& process, AddressBook& address_book) {
  std::optional<Follower> follower;
  follower.emplace(process.open, address_book, process.seat);
  Status status = follower->run();
  if (!status.ok()) {
    status = std::move(status).at("worker ", process.seat);
    // Else the others see the leader's end as well, or do not wait in the address book.
    if (process.leader_is_there().ok() && !follower->has_begun()) address_book.fail(status);
  }
  for (Follower* outlived : {&*follower, static_cast<Follower*>(nullptr)}) {
    if (!outlived) follower.reset(); // the leader may die over that as well
    if (!process.leader_is_there().ok())
      if (const auto run = MeetingFolder::bequeathed(host.disk(), process.folder); run.ok())
        return process.outlives(*run, outlived);
  }
  return status;
}

} // namespace dlhost::run
