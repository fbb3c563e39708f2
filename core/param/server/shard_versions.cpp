// From contributions to a version: which contributions make it, the sums that must be known first, and the update.
#include <algorithm>

#include "param/server/shard.h"

namespace dlhost::param {

Status Shard::choose(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message));
  if (!is_of_chooser(message))
    return Status::corrupt("seat ", message.seat, " chooses contributions, which only the chooser may");
  DLHOST_ASSIGN(const bool whole, choices_->choose(message, contributor));
  if (!whole) return {};
  for (Owned& owned : owned_) DLHOST_TRY(apply_chosen(owned));
  return {};
}

Status Shard::hear_late(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message));
  const bool folds = message.word == Word::folded;
  if (!is_of_chooser(message) || (folds && !(traits_.folds && message.rate > 0)))
    return Status::corrupt("a message reports worker ", message.rank, " of group ", message.group,
                           " as late: only the chooser may, and it may fold only under a handler that folds");
  choices_->forget(contributor, message.step + 1, folds ? static_cast<float>(message.rate) : 0);
  if (ledger_ && !folds) DLHOST_TRY(ledger_->dropped({contributors_.number_of(contributor), message.step}));
  for (Owned& owned : owned_) {
    if (!folds) owned.versions.contain(contributor, choices_->forgotten(contributor));
    DLHOST_TRY(owned.decisions->take_late(contributor, folds));
    for (Waiting& waiting : owned.waiting)
      if (waiting.contributor == contributor) waiting.at_least = 0; // the version it waits for is made without it
    DLHOST_TRY(answer_waiting(owned));
  }
  return {};
}

Status Shard::apply_chosen(Owned& owned) {
  DLHOST_ASSIGN(const auto outcome, owned.decisions->take_chosen());
  return go_on(owned, nullptr, outcome);
}

Status Shard::go_on(Owned& owned, const Received* arrived, SliceDecisions::Outcome outcome) {
  using Outcome = SliceDecisions::Outcome;
  if (outcome == Outcome::due) return make(owned);
  if (outcome == Outcome::dropped && ledger_ && arrived)
    return ledger_->dropped(owned_by_slice_[owned.slice->id], contributors_.part_of(*arrived));
  return {};
}

Status Shard::make(Owned& owned) {
  if (!sums_) return make_of_sum(owned);
  sums_->make_due(owned_by_slice_[owned.slice->id]);
  return sum_up(owned);
}

Status Shard::make_of_sum(Owned& owned) {
  if (!norm_) return owned.sums ? say_sums(owned) : apply(owned);
  DLHOST_ASSIGN(const double square, owned.maker->squared_norm());
  DLHOST_TRY(norm_->add(owned_by_slice_[owned.slice->id], square));
  return clip();
}

Status Shard::hear_norm(const Message& message) {
  if (!norm_) return Status::corrupt("a norm from seat ", message.seat, ", which is not expected");
  DLHOST_TRY(norm_->take(message));
  return clip();
}

Status Shard::clip() {
  if (!norm_->is_whole()) return {};
  const float factor = norm_->take_factor();
  for (Owned& owned : owned_) {
    owned.maker->scale(factor);
    DLHOST_TRY(owned.sums ? say_sums(owned) : apply(owned));
  }
  return {};
}

Status Shard::say_sums(Owned& owned) {
  DLHOST_ASSIGN(const auto partials, owned.maker->partials());
  DLHOST_TRY(owned.sums->say(partials));
  return apply_summed(owned);
}

Status Shard::hear_sums(const Message& message) {
  if (message.slice >= setup_.slices->size()) return Status::corrupt("slice ", message.slice, ", which does not exist");
  const auto pieces = setup_.slices->of((*setup_.slices)[message.slice].param);
  const auto own = std::ranges::find(pieces, setup_.server, &Slice::server);
  if (own == pieces.end())
    return Status::corrupt("sums of slice ", message.slice, ", but this server has no slice of its param");
  Owned& owned = owned_[owned_by_slice_[own->id]];
  if (!owned.sums) return Status::corrupt("sums of slice ", message.slice, ", but the updater needs none");
  DLHOST_TRY(owned.sums->take(message));
  return apply_summed(owned);
}

Status Shard::apply_summed(Owned& owned) {
  return owned.sums->is_whole() ? apply(owned, owned.sums->take_sums()) : Status();
}

std::span<const Ledger::Part> Shard::parts_of(const Owned& owned) {
  owned.maker->list(parts_);
  return parts_;
}

void Shard::publish(Owned& owned) {
  owned.versions.publish(sync_ ? sync_->heard(owned_by_slice_[owned.slice->id]) : 0);
}

// The ledger is written first: groups that receive the changes may outlive this server.
Status Shard::publish_learned(Owned& owned, Version version, std::uint64_t place) {
  if (ledger_) DLHOST_TRY(ledger_->flush(owned_by_slice_[owned.slice->id]));
  owned.versions.publish_changes(version, place);
  return {};
}

// Ledger and published state are complete before a worker or a group learns of the version.
Status Shard::apply(Owned& owned, std::span<const double> sums) {
  DLHOST_TRY(owned.maker->write(sums));
  if (ledger_) DLHOST_TRY(ledger_->made(owned_by_slice_[owned.slice->id], parts_of(owned)));
  owned.maker->count_in();
  owned.versions.advance();
  publish(owned);
  if (sync_) DLHOST_TRY(exchange(owned));
  DLHOST_TRY(answer_waiting(owned));
  DLHOST_TRY(answer_settled(owned));
  return choices_ ? apply_chosen(owned) : Status();
}

// The version number stays, so that no contribution becomes late by it.
Status Shard::amend(Owned& owned, float weight) {
  owned.maker->make_of_folded(weight);
  DLHOST_TRY(owned.maker->write({}));
  if (ledger_) DLHOST_TRY(ledger_->amended(owned_by_slice_[owned.slice->id], parts_of(owned)));
  owned.maker->count_in();
  if (sync_) sync_->amended(owned_by_slice_[owned.slice->id]);
  publish(owned);
  return {};
}

} // namespace dlhost::param
