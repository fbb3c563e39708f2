// Tells what the next version of a slice waits for, to explain why a worker waits.
#include <span>

#include "param/server/shard.h"

namespace dlhost::param {

Shard::MissingContribution Shard::lack(SliceId id) const {
  using What = MissingContribution::What;
  const std::size_t which = owned_by_slice_[id];
  const Owned& owned = owned_[which];
  if (sync_ && sync_->in_step() && is_on(owned)) return {What::exchange, sync_->first_missing(which)};
  if (owned.sum == Owned::Sum::waits || owned.sum == Owned::Sum::on)
    return {What::exchange, sums_->first_missing(which)};
  const bool clipped = due_ == 0; // true also without clipping
  if (norm_ && due_ == owned_.size()) return {What::norm, setup_.seats[peers_[norm_->first_missing()]]};
  if (owned.sums && !owned.due.empty() && clipped)
    return {What::sum, setup_.seats[setup_.slices->of(owned.slice->param)[owned.sums->first_missing()].server]};
  // The contributor with the fewest steps in this slice or, if one norm covers all slices, in any slice.
  std::optional<std::size_t> last;
  std::uint64_t least = 0;
  for (const Owned& one : norm_ ? std::span<const Owned>(owned_) : std::span(&owned, 1))
    for (std::size_t c = 0; c < one.accepted.size(); ++c)
      if (contributors_.makes_steps(c) && (!last || one.accepted[c] < least)) {
        last = c;
        least = one.accepted[c];
      }
  return {What::contribution, last ? std::optional(contributors_[*last].seat) : std::nullopt};
}

} // namespace dlhost::param
