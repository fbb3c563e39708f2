#include "net/box.h"

#include <algorithm>

namespace dlhost::net {

Box Box::whole(const Shape& shape) {
  Box box{.first = {}, .shape = shape};
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) box.first.push_back(0);
  return box;
}

Box Box::none(std::size_t rank) {
  Box box;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    box.first.push_back(0);
    box.shape.push_back(0);
  }
  return box;
}

Box Box::with(std::size_t axis, std::int64_t from, std::int64_t to) const {
  return {.first = first.with(axis, from), .shape = shape.with(axis, to - from)};
}

bool Box::contains(const Box& other) const { return intersection(*this, other) == other; }

Box intersection(const Box& a, const Box& b) {
  Box shared = a;
  for (std::size_t axis = 0; axis < a.shape.rank(); ++axis) {
    const std::int64_t first = std::max(a.first[axis], b.first[axis]);
    const std::int64_t last = std::min(a.last(axis), b.last(axis));
    if (last <= first) return Box::none(a.shape.rank());
    shared = shared.with(axis, first, last);
  }
  return shared;
}

} // namespace dlhost::net
