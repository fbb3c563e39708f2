#include "param/server/slice_contributors.h"

#include <algorithm>

namespace dlhost::param {

SliceContributors::SliceContributors(const Contributors& all, const Holders& holders)
    : all_(all), places_(all.size(), none) {
  for (std::size_t index = 0; index < all.size(); ++index) {
    if (!holds(holders, all[index].rank)) continue;
    places_[index] = indices_.size();
    indices_.push_back(index);
  }
}

std::uint32_t SliceContributors::makers() const {
  if (indices_.size() == all_.size()) return all_.makers();
  const auto makes_steps = [this](std::size_t index) { return all_.makes_steps(index); };
  return static_cast<std::uint32_t>(std::ranges::count_if(indices_, makes_steps));
}

Result<std::size_t> SliceContributors::index_of(WorkerId worker, SliceId slice) const {
  DLHOST_ASSIGN(const std::size_t index, all_.index_of(worker));
  if (has(index)) return index;
  return Status::corrupt("worker ", worker.rank, " of group ", worker.group, " does not hold the param of slice ",
                         slice);
}

void SliceContributors::tell_others(std::uint16_t group, std::span<std::uint64_t> numbers) const {
  if (indices_.size() == all_.size()) return;
  std::uint64_t least = ~std::uint64_t{0};
  for (const std::size_t index : indices_)
    if (all_[index].group == group) least = std::min(least, numbers[index]);
  for (std::size_t index = 0; index < numbers.size(); ++index)
    if (all_[index].group == group && !has(index)) numbers[index] = std::max(numbers[index], least);
}

} // namespace dlhost::param
