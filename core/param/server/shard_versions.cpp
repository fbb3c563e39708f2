// The making of a version, from the decision about its contributions to the answers to requests for it; and what a
// version still waits for.
#include <algorithm>

#include "param/server/shard.h"

namespace dlhost::param {

Status Shard::go_on(Owned& owned, const Received* arrived, SliceDecisions::Outcome outcome) {
  using Outcome = SliceDecisions::Outcome;
  if (outcome == Outcome::due) return make(owned);
  if (outcome == Outcome::dropped && ledger_ && arrived)
    return ledger_->dropped(owned.which, contributors_.part_of(*arrived));
  return {};
}

Status Shard::make(Owned& owned) {
  if (!sums_) return make_of_sum(owned);
  sums_->make_due(owned.which);
  return sum_up(owned);
}

Status Shard::sum_up(Owned& owned) {
  VersionMaker& maker = *owned.maker;
  if (sums_->can_start(owned.which))
    DLHOST_TRY(sums_->start(owned.which, owned.versions.newest(), maker.gradients(), maker.take_weight()));
  if (!sums_->is_whole(owned.which)) return {};
  maker.use_sum(sums_->take_sum(owned.which));
  return make_of_sum(owned);
}

Status Shard::make_of_sum(Owned& owned) {
  if (!norm_) return owned.sums ? say_sums(owned) : apply(owned);
  DLHOST_ASSIGN(const double square, owned.maker->squared_norm());
  DLHOST_TRY(norm_->add(owned.which, square));
  return clip();
}

Status Shard::take_one(std::uint32_t from, const to_server::Norm& norm) {
  if (!norm_) return Status::corrupt("a norm from seat ", from, ", which is not expected");
  DLHOST_TRY(norm_->take(from, norm));
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

Status Shard::take_one(std::uint32_t from, const to_server::Sum& message) {
  if (message.slice >= setup_.slices->size()) return Status::corrupt("slice ", message.slice, ", which does not exist");
  const auto pieces = setup_.slices->of((*setup_.slices)[message.slice].param);
  const auto own = std::ranges::find(pieces, setup_.server, &Slice::server);
  if (own == pieces.end())
    return Status::corrupt("sums of slice ", message.slice, ", but this server has no slice of its param");
  Owned& owned = owned_[owned_by_slice_[own->id]];
  if (!owned.sums) return Status::corrupt("sums of slice ", message.slice, ", but the updater needs none");
  DLHOST_TRY(owned.sums->take(from, message));
  return apply_summed(owned);
}

Status Shard::apply_summed(Owned& owned) {
  return owned.sums->is_whole() ? apply(owned, owned.sums->take_sums()) : Status();
}

std::span<const Ledger::Part> Shard::parts_of(const Owned& owned) {
  owned.maker->list(parts_);
  return parts_;
}

// Ledger and published state are complete before a worker or a group learns of the version.
Status Shard::apply(Owned& owned, std::span<const double> sums) {
  DLHOST_TRY(owned.maker->write(sums));
  if (ledger_) DLHOST_TRY(ledger_->made(owned.which, parts_of(owned)));
  owned.maker->count_in();
  owned.versions.advance();
  exchange_->publish(owned.which);
  DLHOST_TRY(exchange_->go_on(owned.which));
  DLHOST_TRY(owned.requests->answer_gets());
  DLHOST_TRY(owned.requests->answer_settled());
  return choices_ ? apply_chosen(owned) : Status();
}

Status Shard::apply_chosen(Owned& owned) {
  DLHOST_ASSIGN(const auto outcome, owned.decisions->take_chosen());
  return go_on(owned, nullptr, outcome);
}

// The version number stays, so that no contribution becomes late by it.
Status Shard::amend(Owned& owned, float weight) {
  owned.maker->make_of_folded(weight);
  DLHOST_TRY(owned.maker->write({}));
  if (ledger_) DLHOST_TRY(ledger_->amended(owned.which, parts_of(owned)));
  owned.maker->count_in();
  exchange_->amended(owned.which);
  exchange_->publish(owned.which);
  return {};
}

Shard::MissingContribution Shard::lack(SliceId id) const {
  using What = MissingContribution::What;
  const Owned& owned = owned_[owned_by_slice_[id]];
  if (exchange_->holds_up(owned.which)) return {What::exchange, exchange_->first_missing(owned.which)};
  if (sums_ && sums_->is_pending(owned.which)) return {What::exchange, sums_->first_missing(owned.which)};
  if (norm_ && norm_->is_sent()) return {What::norm, norm_->first_missing()};
  const bool clipped = !norm_ || !norm_->is_begun();
  if (owned.sums && owned.maker->is_due() && clipped) return {What::sum, owned.sums->first_missing()};
  // The contributor with the fewest steps in this slice or, if one norm covers all slices, in any slice.
  std::optional<std::size_t> last;
  std::uint64_t least = 0;
  for (const Owned& one : owned_) {
    if (!norm_ && one.which != owned.which) continue;
    for (const std::size_t c : one.versions.contributors().indices())
      if (contributors_.makes_steps(c) && (!last || one.decisions->arrived(c) < least)) {
        last = c;
        least = one.decisions->arrived(c);
      }
  }
  return {What::contribution, last ? std::optional(contributors_[*last].seat) : std::nullopt};
}

} // namespace dlhost::param
