#include "run/coordinator/workers.h"

#include <algorithm>
#include <utility>

#include "plugin/contained.h"

namespace dlhost::run {

Result<std::unique_ptr<Workers>> Workers::make(Session& leader, const WorkerPool::Maker& make_crew) {
  DLHOST_ASSIGN(auto pool, make_crew(leader));
  std::unique_ptr<Workers> workers(new Workers(std::move(pool)));
  DLHOST_ASSIGN(workers->leader_, Worker::make(leader, workers->pool_->address_book(), 0));
  Worker& worker = *workers->leader_;
  leader.take_part(worker.place(), &worker, &worker, &worker.boxes());
  return workers;
}

Workers::~Workers() {
  if (begun_) leader_->stop().ignore("who cannot be told is gone");
  replacing_.reset();
  pool_.reset();
  plugin::destroy(plugin::remember("", "", "worker", ""), leader_);
}

void Workers::end() {
  if (!std::exchange(begun_, false)) return;
  leader_->stop().ignore("who cannot be told is gone");
  leader_->ends().await_sent();
}

// Whatever it was that failed: if one of them has died, that is why.
Status Workers::or_who_died(Status status) {
  if (!status.ok()) DLHOST_TRY(pool_->look());
  return status;
}

Status Workers::join() {
  DLHOST_TRY(pool_->start());
  if (pool_->others_go_on()) {
    if (tell_processes_) tell_processes_();
    rejoining_.emplace(leader_->host(), *pool_, *leader_);
    DLHOST_TRY(rejoining_->gather());
  }
  return or_who_died(leader_->join());
}

bool Workers::others_go_on() {
  if (going_on().meeting.empty()) return false;
  const auto has_ended = [this](std::uint32_t worker) { return pool_->replaceable()->has_ended(worker); };
  for (std::uint32_t group = 1; group < leader_->place().server_groups; ++group)
    if (std::ranges::none_of(leader_->workers_of(group), has_ended) && !leader_->lost_groups().lacks(group))
      return true;
  return false;
}

GoingOn Workers::going_on() {
  if (!leader_->lost_groups().mends() || !pool_->replaceable() || !(met_ || pool_->others_go_on())) return {};
  GoingOn going_on{.meeting = pool_->meeting(), .homes = {}, .workers = pool_->processes()};
  for (std::uint32_t group = 0; group < leader_->place().server_groups; ++group)
    going_on.homes.push_back(leader_->workers_of(group).front());
  return going_on;
}

// A group that has not got its values yet waits for a leader that it will not see again.
void Workers::let_go() {
  begun_ = false;
  for (std::uint32_t group = 1; group < leader_->place().server_groups; ++group)
    for (const std::uint32_t worker : leader_->workers_of(group))
      if (leader_->lost_groups().lacks(group)) pool_->address_book().end(worker);
  pool_->let_go();
}

// Other groups make steps already if they go on, and this one gets its values from them.
Status Workers::begin(param::StartPoint beginning, std::uint64_t until) {
  until_ = until == 0 ? ~std::uint64_t{0} : until;
  if (rejoining_) {
    beginning.joining = param::Joining{.number = pool_->address_book().admissions()->number()};
    DLHOST_TRY(pool_->address_book().begin(beginning));
    begun_ = true;
    settled_ = false;
    DLHOST_TRY(or_who_died(leader_->begin(beginning)));
    return leader_->free(until_); // as the leader before did: from now on this one can hold them
  }
  DLHOST_TRY(leader_->begin(beginning));
  DLHOST_TRY(or_who_died(pool_->address_book().begin(beginning)));
  DLHOST_TRY(or_who_died(leader_->put()));
  begun_ = true; // from here on they wait for one another, and hear when that is over
  DLHOST_TRY(or_who_died(leader_->spread_params()));
  DLHOST_TRY(or_who_died(pool_->address_book().meet(0, [this] { return leader_->see_what_was_lost(); })));
  met_ = true;
  return {};
}

void Workers::replace_by(Replacing::Terms terms, const std::string& why) {
  if (!leader_->lost_groups().mends() || !pool_->replaceable()) return;
  terms.restarted = tell_processes_;
  if (rejoining_) {
    const record::Replacement told = rejoining_->told(why);
    tell_replaced(leader_->host(), told, terms.step());
    terms.tell(told);
  }
  replacing_.emplace(leader_->host(), *pool_, *leader_, std::move(terms));
  leader_->look_after_lost([this] { return replacing_->look(); });
}

Status Workers::go(std::uint64_t step, double rate) {
  DLHOST_TRY(leader_->free(until_));
  if (replacing_) DLHOST_TRY(replacing_->look()); // lets none in while others are held
  settled_ = false;
  leader_->set_away(false);
  return leader_->go(step, rate);
}

Status Workers::settle() {
  if (settled_) return {};
  settled_ = true;
  DLHOST_TRY(leader_->hold());
  DLHOST_TRY(leader_->merge_states());
  DLHOST_TRY(leader_->attest());
  leader_->set_away(true);
  return leader_->show_away();
}

Status Workers::gather(std::uint64_t step, std::vector<program::Metric>& metrics) {
  DLHOST_TRY(leader_->gather(step, metrics));
  leader_->set_away(true); // it tells people, and reads
  return {};
}

// They may have stood still since the last evaluation. Where groups contribute jointly, who is late may wait for those
// who have done: the run is over with its leader's steps.
Status Workers::finish(std::uint64_t steps) {
  if (leader_->joint()) {
    DLHOST_TRY(settle());
    DLHOST_TRY(leader_->conclude());
    return leader_->attest();
  }
  do {
    DLHOST_TRY(leader_->free(until_));
    settled_ = false;
    leader_->set_away(false);
    DLHOST_TRY(leader_->wait_for_groups(steps));
    DLHOST_TRY(settle());
  } while (replacing_ && !leader_->have_all_made(steps)); // else one was lost that had made them
  return {};
}

Status Workers::kill(std::uint32_t worker) {
  const std::uint32_t count = pool_->address_book().workers();
  if (worker < 1 || worker >= count)
    return Status::invalid("there is no worker ", worker, "; they are 0 to ", count - 1);
  pool_->address_book().end(worker);
  return {};
}

Result<param::StartPoint> Workers::salvage() {
  if (!leader_->can_salvage()) return Status::not_found("nothing outlives them");
  leader_->stop().ignore("who cannot be told is gone");
  leader_->await_retirement([this](std::uint32_t seat) { pool_->address_book().end(seat); });
  return leader_->salvage();
}

Status Workers::explained(Status status) {
  if (status.code() != Code::gone) return status;
  for (const std::uint32_t seat : leader_->gone())
    if (const auto fate = pool_->fate(seat); !fate.empty()) status = Status::gone(status.message(), ": ", fate);
  return status;
}

} // namespace dlhost::run
