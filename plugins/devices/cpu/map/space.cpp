#include "space.h"

#include <algorithm>

namespace dlhost::plugins::cpu {
namespace {

// The extent of a shape's axis in a space of `rank` axes, aligned at the right.
std::int64_t extent(const Shape& shape, std::size_t rank, std::size_t axis) {
  const auto missing = rank - shape.rank();
  return axis < missing ? 1 : shape[axis - missing];
}

} // namespace

Space::Space(const std::vector<TensorDesc>& in, const std::vector<TensorDesc>& out) : inputs_(in.size()) {
  std::size_t rank = 1;
  for (const auto* list : {&in, &out})
    for (const auto& desc : *list) rank = std::max(rank, desc.shape.rank());
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::int64_t most = 1;
    for (const auto* list : {&in, &out})
      for (const auto& desc : *list)
        if (const auto here = extent(desc.shape, rank, axis); here != 1) most = here;
    full_.push_back(most);
  }
  axes_ = full_;
  for (const auto* list : {&in, &out})
    for (const auto& desc : *list) add(desc);
  join();
}

void Space::add(const TensorDesc& desc) {
  Strides strides;
  std::int64_t stride = 1;
  for (std::size_t axis = full_.rank(); axis-- > 0;) {
    const auto here = extent(desc.shape, full_.rank(), axis);
    strides.along[axis] = here == 1 ? 0 : stride;
    stride *= here;
  }
  strides_.push_back(strides);
}

// Drops axes of one element; joins an axis with the one inside it if every tensor walks both as one.
void Space::join() {
  Shape kept;
  std::vector<Strides> strides(strides_.size());
  for (std::size_t axis = full_.rank(); axis-- > 0;) {
    if (full_[axis] == 1) continue;
    const auto last = kept.rank();
    const bool joins = last > 0 && std::ranges::all_of(strides_, [&](const Strides& tensor) {
                         const auto which = static_cast<std::size_t>(&tensor - strides_.data());
                         return tensor.along[axis] == strides[which].along[last - 1] * kept[last - 1];
                       });
    if (joins) {
      kept[last - 1] *= full_[axis];
      continue;
    }
    kept.push_back(full_[axis]);
    for (std::size_t i = 0; i < strides.size(); ++i) strides[i].along[last] = strides_[i].along[axis];
  }
  if (kept.rank() == 0) kept.push_back(1);
  // Collected innermost first.
  axes_ = {};
  for (std::size_t axis = kept.rank(); axis-- > 0;) axes_.push_back(kept[axis]);
  for (auto& tensor : strides) std::reverse(tensor.along, tensor.along + kept.rank());
  strides_ = std::move(strides);
}

bool Space::sums(std::size_t output) const {
  const auto& strides = strides_[inputs_ + output];
  for (std::size_t axis = 0; axis < axes_.rank(); ++axis)
    if (axes_[axis] > 1 && strides.along[axis] == 0) return true;
  return false;
}

bool Space::sums_outermost(std::size_t output) const {
  return axes_[0] > 1 && strides_[inputs_ + output].along[0] == 0;
}

} // namespace dlhost::plugins::cpu
