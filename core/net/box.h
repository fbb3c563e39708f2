// A box of a tensor: a range of elements on each axis. Thread: any.
#pragma once

#include <cstdint>

#include <dlhost/tensor.h>

namespace dlhost::net {

struct Box {
  Shape first; // its first element on each axis
  Shape shape; // the number of elements on each axis

  static Box whole(const Shape&);
  // A box without elements. Requires: rank > 0.
  static Box none(std::size_t rank);

  std::int64_t count() const { return shape.count(); }
  bool is_empty() const { return count() == 0; }
  std::int64_t last(std::size_t axis) const { return first[axis] + shape[axis]; } // the first element after it
  // The same on the other axes. Requires: 0 <= from <= to.
  Box with(std::size_t axis, std::int64_t from, std::int64_t to) const;
  bool contains(const Box&) const;
  bool operator==(const Box&) const = default;
};

// Empty if they share no element. Requires: equal ranks.
Box intersection(const Box&, const Box&);

} // namespace dlhost::net
