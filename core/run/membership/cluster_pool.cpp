#include "run/membership/cluster_pool.h"

#include <algorithm>

#include "config/dump.h"
#include "env/process/process.h"
#include "run/membership/contact_relay.h"
#include "run/recovery/leadership.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds to_tell = 500'000'000;   // for another member to tell how its worker ended
constexpr Nanoseconds to_notice = 100'000'000; // longest delay until the end is noticed

} // namespace

WorkerPool::Maker ClusterPool::maker(Members& members) {
  return [&members](Session& leader) -> Result<std::unique_ptr<WorkerPool>> {
    std::unique_ptr<ClusterPool> pool(new ClusterPool(members, leader));
    DLHOST_TRY(pool->prepare());
    return std::unique_ptr<WorkerPool>(std::move(pool));
  };
}

Status ClusterPool::prepare() {
  DLHOST_TRY(members_.look());
  const std::uint32_t seats = plan::Place::seats(leader_.job().topology);
  assignment_ = Assignment::of(members_.all(), members_.rank(), seats);
  for (const std::uint32_t rank : assignment_.ranks)
    hosts_.push_back(std::ranges::find(members_.all(), rank, &Member::rank)->host);
  DLHOST_ASSIGN(folder_, env::TemporaryFolder::make("dlhost-run-"));
  epoch_ = members_.mark_of_next();
  const Posting posting{
      .machines = assignment_.machines, .secret = members_.secret(), .epoch = epoch_, .host_name = members_.host()};
  DLHOST_TRY(MeetingFolder::write(leader_.host().disk(), folder_->path(), leader_.job(), posting));
  processes_.emplace(leader_.host(), leader_.registry(), folder_->path());
  address_book_.emplace(
      leader_.host(), folder_->path(), posting,
      FolderAddressBook::Setup{.look = [this] { return look(); }, .end = [this](std::uint32_t seat) { end(seat); }});
  return {};
}

// Announces the attempt to the other members. The relay passes them the files that this member's workers write.
Status ClusterPool::start() {
  attempt_ = members_.next_attempt();
  const AttemptPlan call{.job = config::to_toml(leader_.job(), env::working_folder()),
                         .assignment = assignment_,
                         .epoch = epoch_,
                         .takeover = takeover_};
  Status told = members_.tell(Told::call(*attempt_), call.to_text());
  if (told.code() == Code::cancelled)
    return Status::gone("a process joined or left the run while it was about to begin");
  DLHOST_TRY(std::move(told));
  for (const std::uint32_t seat : assignment_.seats_of(members_.rank()))
    if (seat != 0) DLHOST_TRY(processes_->start(seat));
  task_ = leader_.host().tasks().start("members", [this] {
    ContactRelay relay(leader_.host(), members_, folder_->path(), assignment_, *attempt_,
                       [this] { return over_ ? Status::cancelled("it is over") : processes_->look(); });
    Status status = relay.run();
    {
      const std::scoped_lock lock(guard_);
      relayed_ = status;
    }
    while (status.ok() && !over_ && !members_.has_changed()) status = members_.await_change(to_notice);
  });
  return {};
}

// If another epoch has begun meanwhile, the attempt ends anyway.
Status ClusterPool::bequeath(const std::string& run) {
  DLHOST_ASSIGN(const auto leader, Leadership::told(leader_.host().disk(), run));
  if (takeover_.run == run && takeover_.mark == leader.mark) return {};
  takeover_ = {.run = run, .mark = leader.mark};
  if (!attempt_) return {};
  Status told = members_.tell(Told::takeover(*attempt_), takeover_.to_text());
  return told.code() == Code::cancelled ? Status() : told;
}

ClusterPool::~ClusterPool() {
  part().ignore("the run has ended, or is to begin again");
  if (attempt_)
    members_.tell(Told::over(*attempt_), "").ignore("the membership has changed then, and all members see that");
}

// Ends the workers of this member.
Status ClusterPool::part() {
  over_ = true;
  if (address_book_) address_book_->fail(Status::cancelled("it is over"));
  task_.reset();
  return processes_ ? processes_->end() : Status();
}

// Asks the other member to end its worker. If it cannot be told, the whole member is reported as gone.
void ClusterPool::end(std::uint32_t seat) {
  if (assignment_.ranks[seat] == members_.rank()) return processes_->kill(seat);
  if (attempt_ && members_.tell(Told::kill(*attempt_, seat), "").ok()) return;
  members_.report_gone(assignment_.ranks[seat], concat("its worker ", seat, " hangs")).ignore("it is gone already");
}

std::vector<RunProcess> ClusterPool::processes() {
  std::vector<RunProcess> all;
  for (std::uint32_t seat = 1; seat < address_book_->workers(); ++seat) {
    const auto contact = address_book_->contact(seat);
    all.push_back({hosts_[seat], contact.ok() ? contact->process : 0});
  }
  return all;
}

Status ClusterPool::look() {
  DLHOST_TRY(processes_->look());
  const std::scoped_lock lock(guard_);
  return relayed_;
}

std::string ClusterPool::fate(std::uint32_t seat) {
  if (seat >= assignment_.ranks.size()) return {};
  if (assignment_.ranks[seat] == members_.rank()) return processes_->fate(seat);
  if (!attempt_) return {};
  const auto told = members_.hear(Told::fate(*attempt_, seat), to_tell);
  return told.ok() ? *told : std::string(); // not told, or the membership has changed
}

} // namespace dlhost::run
