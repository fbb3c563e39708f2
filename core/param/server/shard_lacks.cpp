// Tells what the next version of a slice waits for, to explain why a worker waits.
#include <span>

#include "param/server/shard.h"

namespace dlhost::param {

Shard::MissingContribution Shard::lack(SliceId id) const {
  using What = MissingContribution::What;
  const std::size_t which = owned_by_slice_[id];
  const Owned& owned = owned_[which];
  if (sync_ && sync_->in_step() && is_on(owned)) return {What::exchange, sync_->first_missing(which)};
  if (sums_ && sums_->is_pending(which)) return {What::exchange, sums_->first_missing(which)};
  if (norm_ && norm_->is_sent()) return {What::norm, norm_->first_missing()};
  const bool clipped = !norm_ || !norm_->is_begun();
  if (owned.sums && owned.maker->is_due() && clipped) return {What::sum, owned.sums->first_missing()};
  // The contributor with the fewest steps in this slice or, if one norm covers all slices, in any slice.
  std::optional<std::size_t> last;
  std::uint64_t least = 0;
  for (const Owned& one : owned_)
    for (std::size_t c = 0; c < contributors_.size(); ++c)
      if ((norm_ || &one == &owned) && contributors_.makes_steps(c) && (!last || one.decisions->arrived(c) < least)) {
        last = c;
        least = one.decisions->arrived(c);
      }
  return {What::contribution, last ? std::optional(contributors_[*last].seat) : std::nullopt};
}

} // namespace dlhost::param
