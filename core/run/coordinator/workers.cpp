#include "run/coordinator/workers.h"

#include <utility>

#include "plugin/contained.h"

namespace dlhost::run {

Result<std::unique_ptr<Workers>> Workers::make(Session& leader, const WorkerPool::Maker& make_crew) {
  DLHOST_ASSIGN(auto pool, make_crew(leader));
  std::unique_ptr<Workers> workers(new Workers(std::move(pool)));
  DLHOST_ASSIGN(workers->seat_, Seat::make(leader, workers->pool_->address_book(), 0));
  leader.take_part(workers->seat_->place(), workers->seat_.get(), workers->seat_.get());
  return workers;
}

Workers::~Workers() {
  if (begun_) seat_->stop().ignore("who cannot be told is gone");
  replacing_.reset();
  pool_.reset();
  plugin::destroy(plugin::remember("", "", "worker", ""), seat_);
}

void Workers::end() {
  if (!std::exchange(begun_, false)) return;
  seat_->stop().ignore("who cannot be told is gone");
  seat_->await_sent();
}

// Whatever it was that failed: if one of them has died, that is why.
Status Workers::or_who_died(Status status) {
  if (!status.ok()) DLHOST_TRY(pool_->look());
  return status;
}

Status Workers::join() {
  DLHOST_TRY(pool_->start());
  return or_who_died(seat_->join());
}

Status Workers::begin(const param::StartPoint& beginning, std::uint64_t until) {
  until_ = until == 0 ? ~std::uint64_t{0} : until;
  DLHOST_TRY(seat_->begin(beginning));
  DLHOST_TRY(or_who_died(pool_->address_book().begin(beginning)));
  DLHOST_TRY(or_who_died(seat_->put()));
  begun_ = true; // from here on they wait for one another, and hear when that is over
  DLHOST_TRY(or_who_died(seat_->spread_params()));
  return or_who_died(pool_->address_book().meet(0, [this] { return seat_->see_what_was_lost(); }));
}

void Workers::replace_by(Replacing::Terms terms) {
  if (!seat_->mends() || !pool_->replaceable()) return;
  replacing_.emplace(seat_->host(), *pool_, *seat_, std::move(terms));
  seat_->look_after_lost([this] { return replacing_->look(); });
}

Status Workers::go(std::uint64_t step, double rate) {
  DLHOST_TRY(seat_->free(until_));
  if (replacing_) DLHOST_TRY(replacing_->look()); // lets none in while others are held
  settled_ = false;
  seat_->set_away(false);
  return seat_->go(step, rate);
}

Status Workers::settle() {
  if (settled_) return {};
  settled_ = true;
  DLHOST_TRY(seat_->hold());
  DLHOST_TRY(seat_->merge_states());
  DLHOST_TRY(seat_->attest());
  seat_->set_away(true);
  return seat_->show_away();
}

Status Workers::gather(std::uint64_t step, std::vector<program::Metric>& metrics) {
  DLHOST_TRY(seat_->gather(step, metrics));
  seat_->set_away(true); // it tells people, and reads
  return {};
}

// They may have stood still since the last evaluation. Where groups contribute jointly, who is late may wait for those
// who have done: the run is over with its leader's steps.
Status Workers::finish(std::uint64_t steps) {
  if (seat_->joint()) {
    DLHOST_TRY(settle());
    DLHOST_TRY(seat_->conclude());
    return seat_->attest();
  }
  do {
    DLHOST_TRY(seat_->free(until_));
    settled_ = false;
    seat_->set_away(false);
    DLHOST_TRY(seat_->wait_for_groups(steps));
    DLHOST_TRY(settle());
  } while (replacing_ && !seat_->have_all_made(steps)); // else one was lost that had made them
  return {};
}

Status Workers::kill(std::uint32_t worker) {
  const std::uint32_t count = pool_->address_book().seats();
  if (worker < 1 || worker >= count)
    return Status::invalid("there is no worker ", worker, "; they are 0 to ", count - 1);
  pool_->address_book().end(worker);
  return {};
}

Result<param::StartPoint> Workers::salvage() {
  if (!seat_->can_salvage()) return Status::not_found("nothing outlives them");
  seat_->stop().ignore("who cannot be told is gone");
  seat_->await_retirement([this](std::uint32_t seat) { pool_->address_book().end(seat); });
  return seat_->salvage();
}

Status Workers::explained(Status status) {
  if (status.code() != Code::gone) return status;
  for (const std::uint32_t seat : seat_->gone())
    if (const auto fate = pool_->fate(seat); !fate.empty()) status = Status::gone(status.message(), ": ", fate);
  return status;
}

} // namespace dlhost::run
