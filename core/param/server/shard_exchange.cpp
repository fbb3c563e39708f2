// A server's exchanges, of values or of gradients, with the servers of the same slices in other server groups: when one
// begins, and how its result becomes the value.
#include <algorithm>
#include <utility>

#include "param/server/shard.h"

namespace dlhost::param {

bool Shard::is_on(const Owned& owned) const { return sync_ && sync_->is_on(owned_by_slice_[owned.slice->id]); }

Status Shard::exchange(Owned& owned) {
  const std::size_t which = owned_by_slice_[owned.slice->id];
  if (owned.exchanged) return conclude(owned);
  if (sync_->is_on(which) || !sync_->is_due(which, owned.versions.newest())) return {};
  DLHOST_ASSIGN(const bool over, sync_->start(which, owned.versions.newest(), owned.versions.value()));
  return over ? conclude(owned) : Status();
}

// Continues the sum. Called whenever a message has arrived that the sum may wait for.
Status Shard::sum_up(Owned& owned) {
  const std::size_t which = owned_by_slice_[owned.slice->id];
  VersionMaker& maker = *owned.maker;
  if (sums_->can_start(which))
    DLHOST_TRY(sums_->start(which, owned.versions.newest(), maker.gradients(), maker.take_weight()));
  if (!sums_->is_whole(which)) return {};
  maker.use_sum(sums_->take_sum(which));
  return make_of_sum(owned);
}

Status Shard::hear_neighbour(Owned& owned, const Message& message) {
  const std::size_t which = owned_by_slice_[owned.slice->id];
  if (sums_) {
    DLHOST_TRY(sums_->take(which, message));
    return sum_up(owned);
  }
  if (!sync_) return Status::corrupt("an exchange of slice ", message.slice, ", but this server exchanges no slices");
  DLHOST_ASSIGN(const auto news, sync_->take(which, message));
  if (news == GroupSync::News::over) return conclude_and_tell(owned);
  if (news == GroupSync::News::join) DLHOST_TRY(exchange(owned));
  DLHOST_TRY(go_on_exchanging());
  DLHOST_TRY(say_joined());
  return say_aligned();
}

Status Shard::conclude_and_tell(Owned& owned) {
  DLHOST_TRY(conclude(owned));
  DLHOST_TRY(answer_waiting(owned));
  return answer_settled(owned);
}

// Starts the exchanges that waited for rows, as far as rows are free now.
Status Shard::go_on_exchanging() {
  while (const auto which = sync_->next()) {
    Owned& owned = owned_[*which];
    DLHOST_ASSIGN(const bool over, sync_->start(*which, owned.versions.newest(), owned.versions.value()));
    if (over) DLHOST_TRY(conclude_and_tell(owned));
  }
  return {};
}

// The result of an exchange waits while contributions are due, because the norm and the sums of their version were
// computed with the present value.
Status Shard::conclude(Owned& owned) {
  const std::size_t which = owned_by_slice_[owned.slice->id];
  owned.exchanged = owned.maker->is_due();
  if (owned.exchanged) return {};
  DLHOST_ASSIGN(const std::size_t next, owned.versions.room());
  DLHOST_TRY(sync_->conclude(which, owned.versions.newest(), owned.versions.value(), owned.versions.value(next)));
  owned.versions.moved(next);
  publish(owned);
  DLHOST_TRY(exchange(owned));
  DLHOST_TRY(go_on_exchanging());
  return say_aligned();
}

Status Shard::join(std::uint32_t number) {
  joins_ = number;
  DLHOST_TRY(sync_->recall());
  return say_joined();
}

// Publishes the values and tells the leader: from now on workers may contribute.
Status Shard::say_joined() {
  if (joins_ == 0 || sync_->is_joining()) return {};
  for (Owned& owned : owned_) publish(owned);
  return setup_.send(leading_seat, {.word = Word::joined, .step = std::exchange(joins_, 0)});
}

Status Shard::lose(std::uint32_t rank) {
  if (!sync_) return {};
  DLHOST_TRY(sync_->lose(rank));
  return hear_of_groups();
}

Status Shard::replace(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t number) {
  if (!sync_) return {};
  DLHOST_TRY(sync_->join(rank, memory, number));
  return hear_of_groups();
}

// Called when a server group is lost or replaced. Takes the messages that arrived too early for the old set of groups.
Status Shard::hear_of_groups() {
  for (const Message& message : sync_->early())
    DLHOST_TRY(hear_neighbour(owned_[owned_by_slice_[message.slice]], message));
  for (std::size_t which = 0; which < owned_.size(); ++which) {
    if (sync_->is_joining() || !sync_->has_news(which)) continue;
    DLHOST_TRY(conclude(owned_[which]));
    DLHOST_TRY(answer_waiting(owned_[which]));
    DLHOST_TRY(answer_settled(owned_[which]));
  }
  DLHOST_TRY(say_joined());
  return say_aligned();
}

// Requires: all workers pause, and all their updates have arrived.
Status Shard::align(const Message& message) {
  if (message.seat != leading_seat && !is_of_chooser(message))
    return Status::corrupt("seat ", message.seat, " sends 'align', which only the run's leader and the chooser may");
  for (std::size_t which = 0; which < owned_.size(); ++which) {
    Owned& owned = owned_[which];
    owned.aligns = true;
    if (owned.maker->has_folded())
      DLHOST_TRY(amend(owned, traits_.by_step ? static_cast<float>(message.rate) : owned.decisions->weight_at_pause()));
    if (sync_ && sync_->align(which, owned.versions.newest())) DLHOST_TRY(exchange(owned));
  }
  return say_aligned();
}

// The leader sends this if another server group has made more exchanges of the slice.
Status Shard::align_through(const Message& message) {
  if (message.seat != leading_seat)
    return Status::corrupt("seat ", message.seat, " sends 'align' for slice ", message.slice,
                           ", which only the run's leader may");
  const std::size_t which = owned_by_slice_[message.slice];
  if (!sync_) return Status::corrupt("'align' for slice ", message.slice, ", but this server exchanges no slices");
  owned_[which].aligns = true;
  if (sync_->align_through(which, message.version)) DLHOST_TRY(exchange(owned_[which]));
  return say_aligned();
}

// The leader may save the aligned values. So the ledger is on the disk before `aligned` is sent.
Status Shard::say_aligned() {
  if (std::ranges::none_of(owned_, &Owned::aligns) || (sync_ && !sync_->is_aligned())) return {};
  if (ledger_) DLHOST_TRY(ledger_->sync());
  for (const Owned& owned : owned_)
    if (owned.aligns) DLHOST_TRY(show_kept(owned, leading_seat));
  for (std::size_t which = 0; which < owned_.size(); ++which) {
    Owned& owned = owned_[which];
    if (!std::exchange(owned.aligns, false)) continue;
    DLHOST_TRY(setup_.send(leading_seat, {.word = Word::aligned,
                                          .slice = owned.slice->id,
                                          .step = sync_ ? sync_->exchanges(which) : 0,
                                          .samples = {.first = sync_ ? sync_->times_aligned() : 0, .count = 0},
                                          .version = owned.versions.newest(),
                                          .place = owned.versions.place()}));
  }
  return {};
}

} // namespace dlhost::param
