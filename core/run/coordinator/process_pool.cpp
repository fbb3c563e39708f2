#include "run/coordinator/process_pool.h"

#include "env/process/launched.h"
#include "run/membership/meeting_folder.h"

namespace dlhost::run {
namespace {

// Names the run's folder, in which workers may go on should the leader be killed.
std::string will_in(const std::string& folder) { return folder + "/will"; }

} // namespace

Result<std::unique_ptr<WorkerPool>> ProcessPool::make(Session& leader) {
  std::unique_ptr<ProcessPool> pool(new ProcessPool(leader));
  DLHOST_ASSIGN(pool->folder_, env::TemporaryFolder::make("dlhost-run-"));
  const std::string& folder = pool->folder_->path();
  const Posting posting{plan::Place::machines(leader.job().topology), env::draw_secret()};
  DLHOST_TRY(MeetingFolder::write(leader.host().disk(), folder, leader.job(), posting));
  pool->processes_.emplace(leader.host(), leader.registry(), folder);
  pool->address_book_.emplace(
      leader.host(), folder, posting, [pool = pool.get()] { return pool->look(); },
      [pool = pool.get()](std::uint32_t seat) { pool->processes_->kill(seat); }, 0);
  return std::unique_ptr<WorkerPool>(std::move(pool));
}

ProcessPool::~ProcessPool() { part().ignore("the run has ended, or is to begin once more"); }

Status ProcessPool::part() {
  if (address_book_) address_book_->fail(Status::cancelled("it is over"));
  return processes_ ? processes_->end() : Status();
}

Status ProcessPool::start() {
  for (std::uint32_t seat = 1; seat < address_book_->workers(); ++seat) DLHOST_TRY(processes_->start(seat));
  return {};
}

std::vector<RunProcess> ProcessPool::processes() {
  std::vector<RunProcess> all;
  for (const int number : processes_->numbers()) all.push_back({env::host_name(), number});
  return all;
}

Status ProcessPool::bequeath(const std::string& run) {
  return leader_.host().disk().write_text(will_in(folder_->path()), run);
}

Status ProcessPool::work(Host& host, plugin::Registry& registry, const config::Job& job, const std::string& folder,
                         std::uint32_t seat, int leader, std::uint32_t joins, const Outlives& outlives) {
  DLHOST_ASSIGN(const auto used, env::SharedFolder::join(folder));
  const auto leader_is_there = [&] {
    return env::parent_process() == leader ? Status() : Status::gone("the leader is gone");
  };
  DLHOST_ASSIGN(const Posting posting, MeetingFolder::read_posting(host.disk(), folder));
  if (posting.machines.size() != plan::Place::seats(job.topology) || seat >= posting.machines.size())
    return Status::corrupt(folder, ": ", posting.machines.size(), " workers are posted, and the job has ",
                           plan::Place::seats(job.topology));
  // The others are the leader's to end.
  const auto end = [&](std::uint32_t other) {
    if (other == 0 && posting.by_leader && leader_is_there().ok()) env::kill(leader);
  };
  FolderAddressBook address_book(host, folder, posting, leader_is_there, end,
                                 posting.by_leader ? std::optional(joins) : std::nullopt);
  std::optional<Follower> follower;
  follower.emplace([&](std::uint32_t turn) { return Session::open(host, registry, job, Purpose::training, turn); },
                   address_book, seat);
  Status status = follower->run();
  if (!status.ok()) {
    status = std::move(status).at("worker ", seat);
    address_book.fail(status);
  }
  for (Follower* outlived : {&*follower, static_cast<Follower*>(nullptr)}) {
    if (!outlived) follower.reset(); // the leader may die over that as well
    if (!leader_is_there().ok())
      if (const auto will = host.disk().read_text(will_in(folder)); will.ok()) return outlives(*will, outlived);
  }
  return status;
}

} // namespace dlhost::run
