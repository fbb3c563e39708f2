#include "run/coordinator/process_pool.h"

#include "env/process/launched.h"
#include "run/membership/meeting_folder.h"

namespace dlhost::run {

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
  return MeetingFolder::bequeath(leader_.host().disk(), folder_->path(), run);
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
  const auto open = [&](std::uint32_t turn) { return Session::open(host, registry, job, Purpose::training, turn); };
  return run::work(host, {folder, seat, open, leader_is_there, outlives}, address_book);
}

} // namespace dlhost::run
