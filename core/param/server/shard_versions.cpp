// From contributions to a version: which contributions make it, the sums that must be known first, and the update.
#include <algorithm>

#include "param/server/shard.h"

namespace dlhost::param {

Status Shard::choose(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message));
  if (!is_of_chooser(message) || message.samples.count == 0 || message.samples.count > contributors_.size())
    return Status::corrupt("a message chooses ", message.samples.count,
                           " contributions: only the chooser may, at least one and at most one of each worker");
  Choice& choice = choices_[message.version % choices_.size()];
  if (choice.version != message.version || choice.whole()) choice = {.members = std::move(choice.members)};
  if (choice.count == 0) choice.members.clear();
  choice.version = message.version;
  choice.weight = static_cast<float>(message.rate);
  choice.rate_factor = message.factor;
  choice.count = message.samples.count;
  choice.members.emplace_back(contributor, message.step);
  if (!choice.whole()) return {};
  for (Owned& owned : owned_) DLHOST_TRY(apply_chosen(owned));
  return {};
}

Status Shard::hear_late(const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message));
  const bool folds = message.word == Word::folded;
  if (!is_of_chooser(message) || (folds && !(traits_.folds && message.rate > 0)))
    return Status::corrupt("a message reports worker ", message.rank, " of group ", message.group,
                           " as late: only the chooser may, and it may fold only under a handler that folds");
  forgotten_[contributor] = std::max(forgotten_[contributor], message.step + 1);
  late_weights_[contributor] = folds ? static_cast<float>(message.rate) : 0;
  if (ledger_ && !folds) DLHOST_TRY(ledger_->dropped({contributors_.number_of(contributor), message.step}));
  for (Owned& owned : owned_) {
    if (!folds) owned.versions.contain(contributor, forgotten_[contributor]);
    const auto late = std::ranges::find_if(owned.held, [&](const Received& held) {
      return held.contributor == contributor && held.contribution.who.step < forgotten_[contributor];
    });
    if (late != owned.held.end()) {
      if (folds) DLHOST_TRY(owned.maker->fold(*late, late_weights_[contributor]));
      owned.held.erase(late);
    }
    for (Waiting& waiting : owned.waiting)
      if (waiting.contributor == contributor) waiting.at_least = 0; // the version it waits for is made without it
    DLHOST_TRY(answer_waiting(owned));
  }
  return {};
}

// True if the chooser has not decided yet about an update of this worker. Until then a `get` of the worker is not
// answered, even if the version that it asks for exists: after the answer the worker would overwrite the gradient. This
// also bounds the number of held updates when the chooser is slow. False if steps are not chosen.
bool Shard::is_undecided(const Owned& owned, std::size_t contributor) const {
  return traits_.by_step && std::ranges::find(owned.held, contributor, &Received::contributor) != owned.held.end();
}

// Makes the next version once all its chosen updates have arrived. Updates of later versions may have arrived too.
Status Shard::apply_chosen(Owned& owned) {
  const Choice& choice = choices_[owned.versions.newest() % choices_.size()];
  if (owned.maker->is_due() || choice.version != owned.versions.newest() || !choice.whole()) return {};
  const auto is_member = [&](const Received& held) {
    return std::ranges::find(choice.members, std::pair(held.contributor, held.contribution.who.step)) !=
           choice.members.end();
  };
  const auto others = std::partition(owned.held.begin(), owned.held.end(), is_member);
  if (static_cast<std::size_t>(others - owned.held.begin()) < choice.count) return {};
  DLHOST_TRY(owned.maker->make_due({owned.held.begin(), others}, nullptr,
                                   {.weight = choice.weight, .rate_factor = choice.rate_factor}));
  owned.held.erase(owned.held.begin(), others);
  return make(owned);
}

Status Shard::decide(Owned& owned, const Received* arrived, const UpdateVerdict& verdict) {
  const bool makes = verdict.act == UpdateVerdict::Act::apply || verdict.act == UpdateVerdict::Act::combine;
  if (makes && owned.maker->is_due())
    return Status::internal("the consistency handler makes a version of slice ", owned.slice->id,
                            " before the one before is made");
  switch (verdict.act) {
  case UpdateVerdict::Act::hold:
    if (!arrived) return {};
    if (owned.held.size() == owned.held.capacity())
      return Status::internal("the consistency handler holds more updates of slice ", owned.slice->id,
                              " than there are workers");
    owned.held.push_back(*arrived);
    owned.seen.push_back(arrived->contribution);
    return {};
  case UpdateVerdict::Act::apply:
    if (!arrived) return Status::internal("the consistency handler applies a contribution, but none has arrived");
    DLHOST_TRY(owned.maker->make_due({}, arrived, verdict));
    return make(owned);
  case UpdateVerdict::Act::combine:
    if (owned.held.empty() && !arrived)
      return Status::internal("the consistency handler combines contributions, but none is held");
    DLHOST_TRY(owned.maker->make_due(owned.held, arrived, verdict));
    owned.held.clear();
    owned.seen.clear();
    return make(owned);
  case UpdateVerdict::Act::drop:
    ++arrivals_.late;
    return ledger_ && arrived ? ledger_->dropped(owned_by_slice_[owned.slice->id], contributors_.part_of(*arrived))
                              : Status();
  case UpdateVerdict::Act::fold:
    if (!arrived) return Status::internal("the consistency handler folds a contribution, but none has arrived");
    if (verdict.late) ++arrivals_.late;
    return owned.maker->fold(*arrived, verdict.weight);
  }
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
  return traits_.by_step ? apply_chosen(owned) : Status();
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
