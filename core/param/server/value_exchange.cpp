#include "param/server/value_exchange.h"

#include <algorithm>
#include <utility>

namespace dlhost::param {

Result<std::unique_ptr<ValueExchange>> ValueExchange::make(Setup setup, std::span<const Slice* const> owned) {
  std::unique_ptr<ValueExchange> exchange(new ValueExchange(std::move(setup)));
  exchange->slices_.reserve(owned.size());
  if (!exchange->setup_.sync) return exchange;
  GroupSync::Setup& sync = *exchange->setup_.sync;
  if (exchange->setup_.publishes_changes)
    sync.publish = [exchange = exchange.get()](std::size_t which, Version version, std::uint64_t place) {
      return exchange->publish_changes(which, version, place);
    };
  DLHOST_ASSIGN(exchange->sync_, GroupSync::make(std::move(sync), owned));
  return exchange;
}

void ValueExchange::add(SliceVersions& versions, const VersionMaker& maker, SliceRequests& requests) {
  slices_.push_back({.versions = &versions, .maker = &maker, .requests = &requests});
}

void ValueExchange::keep(Ledger* ledger) {
  ledger_ = ledger;
  if (sync_) sync_->keep(ledger);
}

void ValueExchange::begin(const StartPoint& beginning) {
  if (sync_) sync_->begin(beginning);
  for (Exchanged& slice : slices_) slice.is_over = slice.aligns = false;
}

void ValueExchange::publish(std::size_t which) { slices_[which].versions->publish(sync_ ? sync_->heard(which) : 0); }

// The ledger is written first: groups that receive the changes may outlive this server.
Status ValueExchange::publish_changes(std::size_t which, Version version, std::uint64_t place) {
  if (ledger_) DLHOST_TRY(ledger_->flush(which));
  slices_[which].versions->publish_changes(version, place);
  return {};
}

Status ValueExchange::go_on(std::size_t which) {
  if (!sync_) return {};
  const Exchanged& slice = slices_[which];
  if (slice.is_over) return conclude(which);
  if (sync_->is_on(which) || !sync_->is_due(which, slice.versions->newest())) return {};
  DLHOST_ASSIGN(const bool over, start(which));
  return over ? conclude(which) : Status();
}

Result<bool> ValueExchange::start(std::size_t which) {
  const SliceVersions& versions = *slices_[which].versions;
  return sync_->start(which, versions.newest(), versions.value());
}

void ValueExchange::amended(std::size_t which) {
  if (sync_) sync_->amended(which);
}

Status ValueExchange::take(std::size_t which, std::uint32_t from, const ToNeighbour& message) {
  if (!sync_)
    return Status::corrupt("seat ", from, " is in an exchange of slice ", slices_[which].versions->slice().id,
                           ", but this server exchanges no slices");
  DLHOST_ASSIGN(const auto news, sync_->take(which, from, message));
  if (news == GroupSync::News::over) return conclude_and_answer(which);
  if (news == GroupSync::News::join) DLHOST_TRY(go_on(which));
  DLHOST_TRY(start_waiting());
  DLHOST_TRY(say_joined());
  return say_aligned();
}

Status ValueExchange::conclude_and_answer(std::size_t which) {
  DLHOST_TRY(conclude(which));
  DLHOST_TRY(slices_[which].requests->answer_gets());
  return slices_[which].requests->answer_settled();
}

// Starts the exchanges that waited for rows, as far as rows are free now.
Status ValueExchange::start_waiting() {
  while (const auto which = sync_->next()) {
    DLHOST_ASSIGN(const bool over, start(*which));
    if (over) DLHOST_TRY(conclude_and_answer(*which));
  }
  return {};
}

// The result of an exchange waits while contributions are due, because the norm and the sums of their version were
// computed with the present value.
Status ValueExchange::conclude(std::size_t which) {
  Exchanged& slice = slices_[which];
  slice.is_over = slice.maker->is_due();
  if (slice.is_over) return {};
  SliceVersions& versions = *slice.versions;
  DLHOST_ASSIGN(const std::size_t next, versions.room());
  DLHOST_TRY(sync_->conclude(which, versions.newest(), versions.value(), versions.value(next)));
  versions.moved(next);
  publish(which);
  DLHOST_TRY(go_on(which));
  DLHOST_TRY(start_waiting());
  return say_aligned();
}

Status ValueExchange::join(std::uint32_t number) {
  joins_ = number;
  DLHOST_TRY(sync_->recall());
  return say_joined();
}

// Publishes the values and tells the leader: from now on workers may contribute.
Status ValueExchange::say_joined() {
  if (joins_ == 0 || sync_->is_joining()) return {};
  for (std::size_t which = 0; which < slices_.size(); ++which) publish(which);
  return (*setup_.send)(leading_seat, to_worker::Joined{.number = std::exchange(joins_, 0)});
}

Status ValueExchange::lose(std::uint32_t rank) {
  if (!sync_) return {};
  DLHOST_TRY(sync_->lose(rank));
  return hear_of_groups();
}

Status ValueExchange::replace(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t order) {
  if (!sync_) return {};
  DLHOST_TRY(sync_->join(rank, memory, order));
  return hear_of_groups();
}

// Called when a server group is lost or replaced. Takes the messages that arrived too early for the old set of groups.
Status ValueExchange::hear_of_groups() {
  for (const GroupSync::Early& early : sync_->early()) DLHOST_TRY(take(early.which, early.from, early.message));
  for (std::size_t which = 0; which < slices_.size(); ++which)
    if (!sync_->is_joining() && sync_->has_news(which)) DLHOST_TRY(conclude_and_answer(which));
  DLHOST_TRY(say_joined());
  return say_aligned();
}

Status ValueExchange::align(std::size_t which, std::uint64_t number) {
  slices_[which].aligns = true;
  return sync_ && sync_->align(which, slices_[which].versions->newest(), number) ? go_on(which) : Status();
}

Status ValueExchange::align_through(std::size_t which, std::uint32_t from, const to_server::AlignThrough& message) {
  if (from != leading_seat)
    return Status::corrupt("seat ", from, " sends 'AlignThrough' for slice ", message.slice,
                           ", which only the run's leader may");
  if (!sync_)
    return Status::corrupt("'AlignThrough' for slice ", message.slice, ", but this server exchanges no slices");
  slices_[which].aligns = true;
  if (sync_->align_through(which, message.exchange)) DLHOST_TRY(go_on(which));
  return say_aligned();
}

// The leader may save the aligned values. So the ledger is on the disk before `Aligned` is sent.
Status ValueExchange::say_aligned() {
  if (std::ranges::none_of(slices_, &Exchanged::aligns) || (sync_ && !sync_->is_aligned())) return {};
  DLHOST_TRY(setup_.answers->sync_ledger());
  for (const Exchanged& slice : slices_)
    if (slice.aligns) DLHOST_TRY(setup_.answers->show_kept(*slice.versions, leading_seat));
  for (std::size_t which = 0; which < slices_.size(); ++which) {
    if (!std::exchange(slices_[which].aligns, false)) continue;
    const SliceVersions& versions = *slices_[which].versions;
    DLHOST_TRY((*setup_.send)(leading_seat, to_worker::Aligned{.slice = versions.slice().id,
                                                               .place = versions.place(),
                                                               .version = versions.newest(),
                                                               .exchanges = sync_ ? sync_->exchanges(which) : 0,
                                                               .alignments = sync_ ? sync_->times_aligned() : 0}));
  }
  return {};
}

} // namespace dlhost::param
