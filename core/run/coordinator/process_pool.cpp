#include "run/coordinator/process_pool.h"

#include <numeric>

#include "env/process/launched.h"
#include "env/process/process.h"
#include "run/membership/meeting_folder.h"
#include "run/recovery/succession.h"

namespace dlhost::run {

Result<std::unique_ptr<WorkerPool>> ProcessPool::make(Session& leader) {
  std::unique_ptr<ProcessPool> pool(new ProcessPool(leader));
  DLHOST_ASSIGN(pool->folder_, env::TemporaryFolder::make("dlhost-run-"));
  const std::string& folder = pool->folder_->path();
  const Posting posting{plan::Place::machines(leader.job().topology), env::draw_secret()};
  DLHOST_TRY(MeetingFolder::write(leader.host().disk(), folder, leader.job(), posting));
  pool->take_up(folder, posting);
  return std::unique_ptr<WorkerPool>(std::move(pool));
}

void ProcessPool::take_up(const std::string& folder, const Posting& posting) {
  processes_.emplace(leader_.host(), leader_.registry(), folder);
  address_book_.emplace(leader_.host(), folder, posting,
                        FolderAddressBook::Setup{.look = [this] { return look(); },
                                                 .end = [this](std::uint32_t seat) { processes_->kill(seat); },
                                                 .joins = number_});
}

// A process of the first group may be this one, which has become the leader.
Result<std::unique_ptr<WorkerPool>> ProcessPool::adopt(Session& leader, const GoingOn& going_on) {
  std::unique_ptr<ProcessPool> pool(new ProcessPool(leader));
  Disk& disk = leader.host().disk();
  DLHOST_ASSIGN(auto used, env::SharedFolder::join(going_on.meeting));
  pool->used_.emplace(std::move(used));
  pool->meeting_ = going_on.meeting;
  pool->first_group_ = going_on.homes.at(1);
  DLHOST_ASSIGN(const Posting posting, MeetingFolder::read_posting(disk, going_on.meeting));
  if (posting.machines.size() != going_on.workers.size() + 1)
    return Status::corrupt(going_on.meeting, ": ", posting.machines.size(), " workers are posted, and ",
                           going_on.workers.size() + 1, " are to go on");
  DLHOST_ASSIGN(pool->number_, MeetingFolder::take_number(disk, going_on.meeting));
  pool->take_up(going_on.meeting, posting);
  for (std::size_t which = 0; which < going_on.workers.size(); ++which) {
    const int process = going_on.workers[which].process;
    const auto seat = static_cast<std::uint32_t>(which + 1);
    const bool is_worker = process != env::own_process() && env::has_word(process, going_on.meeting);
    pool->processes_->adopt(seat, is_worker ? process : 0); // its number may be another process's by now
    if (seat < pool->first_group_) pool->processes_->kill(seat);
  }
  std::vector<std::uint32_t> seats(pool->first_group_);
  std::iota(seats.begin(), seats.end(), 0U);
  DLHOST_TRY(pool->address_book_->admissions()->invite(seats));
  return std::unique_ptr<WorkerPool>(std::move(pool));
}

// The processes of other groups may end without an end of the run.
Status ProcessPool::look() { return number_ == 0 ? processes_->look() : processes_->look(0, first_group_); }

void ProcessPool::let_go() {
  processes_->let_go();
  processes_.reset();
  address_book_.reset();
  if (folder_) folder_->let_go();
}

ProcessPool::~ProcessPool() { part().ignore("the run has ended, or is to begin once more"); }

Status ProcessPool::part() {
  if (address_book_) address_book_->fail(Status::cancelled("it is over"));
  return processes_ ? processes_->end() : Status();
}

Status ProcessPool::start() {
  for (std::uint32_t seat = 1; number_ == 0 && seat < address_book_->workers(); ++seat)
    DLHOST_TRY(processes_->start(seat));
  for (std::uint32_t seat = 1; number_ > 0 && seat < first_group_; ++seat)
    DLHOST_TRY(processes_->restart(seat, number_));
  return {};
}

std::vector<RunProcess> ProcessPool::processes() {
  std::vector<RunProcess> all;
  for (const int number : processes_->numbers()) all.push_back({env::host_name(), number});
  return all;
}

Status ProcessPool::bequeath(const std::string& run) {
  return MeetingFolder::bequeath(leader_.host().disk(), meeting(), run);
}

Status ProcessPool::work(Host& host, plugin::Registry& registry, const config::Job& job, const std::string& folder,
                         std::uint32_t seat, int leader, std::uint32_t joins, const Outlives& outlives) {
  DLHOST_ASSIGN(const auto used, env::SharedFolder::join(folder));
  int follows = leader; // it may take the place of the one that started this process
  const auto leader_is_there = [&] {
    const bool is_there = follows == leader ? env::parent_process() == leader : env::runs(follows);
    return is_there ? Status() : Status::gone("the leader is gone");
  };
  DLHOST_ASSIGN(const Posting posting, MeetingFolder::read_posting(host.disk(), folder));
  if (posting.machines.size() != plan::Place::seats(job.topology) || seat >= posting.machines.size())
    return Status::corrupt(folder, ": ", posting.machines.size(), " workers are posted, and the job has ",
                           plan::Place::seats(job.topology));
  env::RealProcesses processes;
  FolderAddressBook address_book(host, folder, posting,
                                 {.look = leader_is_there,
                                  .end =
                                      [&](std::uint32_t other) { // the others are the leader's to end
                                        if (other == 0 && posting.by_leader && leader_is_there().ok())
                                          env::kill(follows);
                                      },
                                  .joins = posting.by_leader ? std::optional(joins) : std::nullopt,
                                  .is_led = [&] { return leader_of(host.disk(), processes, folder) != 0; },
                                  .follow = [&] { follows = leader_of(host.disk(), processes, folder); }});
  const auto open = [&](std::uint32_t turn) { return Session::open(host, registry, job, Purpose::training, turn); };
  const auto outlive = [&](const std::string& run, Follower* last) { return outlives(run, follows, last); };
  return run::work(host, {folder, seat, open, leader_is_there, outlive}, address_book);
}

} // namespace dlhost::run
