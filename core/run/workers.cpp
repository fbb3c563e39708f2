#include "run/workers.h"

namespace dlhost::run {

Result<std::unique_ptr<Workers>> Workers::make(Session& leader, const Crew::Maker& make_crew) {
  DLHOST_ASSIGN(auto crew, make_crew(leader));
  std::unique_ptr<Workers> workers(new Workers(std::move(crew)));
  DLHOST_ASSIGN(workers->seat_, Seat::make(leader, workers->crew_->roster(), 0));
  leader.take_part(workers->seat_->place(), workers->seat_.get());
  return workers;
}

Workers::~Workers() {
  if (begun_) seat_->stop().ignore("who cannot be told is gone");
  crew_.reset();
}

Status Workers::join() {
  DLHOST_TRY(crew_->start());
  return seat_->join();
}

Status Workers::begin(const param::Beginning& beginning, std::uint64_t until) {
  until_ = until == 0 ? ~std::uint64_t{0} : until;
  seat_->begin(beginning);
  DLHOST_TRY(crew_->roster().begin(beginning));
  DLHOST_TRY(crew_->roster().meet(0));
  begun_ = true;
  return {};
}

Status Workers::go(std::uint64_t step, double rate) {
  if (settled_) DLHOST_TRY(seat_->free(until_));
  settled_ = false;
  seat_->set_away(false);
  return seat_->go(step, rate);
}

Status Workers::settle() {
  if (settled_) return {};
  settled_ = true;
  DLHOST_TRY(seat_->hold());
  seat_->merge_states();
  seat_->set_away(true);
  return {};
}

Status Workers::finish(std::uint64_t steps) { return settled_ ? Status() : seat_->wait_for_groups(steps); }

Status Workers::explained(Status status) {
  if (status.code() != Code::gone) return status;
  for (const std::uint32_t seat : seat_->gone())
    if (const auto fate = crew_->fate(seat); !fate.empty()) status = Status::gone(status.message(), ": ", fate);
  return status;
}

} // namespace dlhost::run
