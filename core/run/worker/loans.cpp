#include "run/worker/loans.h"

#include <algorithm>
#include <utility>

namespace dlhost::run {

namespace to_worker = param::to_worker;
using What = Awaited::What;

void Loans::lay_out(program::LentMemory lent) {
  transfers_.assign(lent.transfers.size() * ends_.layout.place.workers, {});
  ends_.lent = std::move(lent);
}

Status Loans::send(std::uint32_t rank, const param::Body& message) {
  DLHOST_TRY(ends_.send(number_of(rank), message));
  return ends_.post->flush();
}

Status Loans::begin_step(std::uint64_t step) {
  step_ = step;
  const auto first_unread = [this] {
    const auto first = std::ranges::find_if(transfers_, [](const Transfer& one) { return one.read < one.until; });
    const auto place = static_cast<std::uint32_t>(first - transfers_.begin());
    Awaited awaited = Waits::on(What::readers, number_of(place % ends_.layout.place.workers));
    awaited.param = place / ends_.layout.place.workers;
    return awaited;
  };
  return ends_.table->attend_until(
      [&] { return unread_ == 0 ? ends_.waits.is_over(true, {}) : ends_.waits.is_over(false, first_unread()); });
}

Status Loans::lend(std::uint32_t transfer, std::span<const std::uint32_t> to) {
  for (const std::uint32_t rank : to) {
    at(transfer, rank).until = step_ + 1;
    ++unread_;
    DLHOST_TRY(send(rank, to_worker::Lent{.transfer = transfer, .step = step_}));
  }
  return {};
}

Result<const std::byte*> Loans::wait(std::uint32_t transfer, std::uint32_t worker) {
  const Transfer& awaited = at(transfer, worker);
  Awaited what = Waits::on(What::loan, number_of(worker));
  what.param = transfer;
  Status status = ends_.table->attend_until([&] { return ends_.waits.is_over(awaited.lent > step_, what); });
  if (status.code() == Code::gone)
    return std::move(status).at("worker ", ends_.number, " waits for ", ends_.lent.transfers[transfer], " in step ",
                                step_);
  DLHOST_TRY(std::move(status));
  return static_cast<const std::byte*>(ends_.memory.lent_by(number_of(worker)).data());
}

Status Loans::give_back(std::uint32_t transfer, std::uint32_t worker) {
  return send(worker, to_worker::Returned{.transfer = transfer, .step = step_});
}

Status Loans::wrong(std::uint32_t from, std::uint32_t transfer, std::uint64_t step, const char* why) const {
  return Status::corrupt("worker ", from, ", ", ends_.lent.transfers[transfer], ", step ", step, ": ", why,
                         ", and this worker computes step ", step_);
}

Result<Loans::Transfer*> Loans::find(std::uint32_t from, std::uint32_t transfer, const char* says) {
  const plan::Place& place = ends_.layout.place;
  if (from / place.workers != place.group || from == ends_.number || transfer >= ends_.lent.transfers.size())
    return Status::corrupt("worker ", from, " ", says, " transfer ", transfer,
                           ", and its group has none with this worker");
  return &at(transfer, from % place.workers);
}

// A worker is at most one step ahead of those that read what it lends.
Status Loans::hear_lent(std::uint32_t from, const to_worker::Lent& message) {
  DLHOST_ASSIGN(Transfer* const transfer, find(from, message.transfer, "lends"));
  if (message.step < transfer->lent) return wrong(from, message.transfer, message.step, "it is lent twice");
  transfer->lent = message.step + 1;
  return {};
}

Status Loans::hear_returned(std::uint32_t from, const to_worker::Returned& message) {
  DLHOST_ASSIGN(Transfer* const transfer, find(from, message.transfer, "gives back"));
  if (message.step + 1 != transfer->until || transfer->read == transfer->until)
    return wrong(from, message.transfer, message.step, "it is given back, but is not lent");
  transfer->read = transfer->until;
  --unread_;
  return {};
}

} // namespace dlhost::run
