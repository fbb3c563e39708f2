// The two matrices whose product the gradient of a param is: a worker's rows of what a layer read, and of the gradient
// of what it gave. Where they are less than the gradient they are sent in its place, and whoever makes the update
// multiplies: no gradient is ever written to memory, and no other worker's is read from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <dlhost/device.h>

namespace dlhost::param {

// Of one worker's rows, plain.
struct Factors {
  TensorDesc x;  // [rows, ...]
  TensorDesc dy; // [rows, units]

  std::int64_t elements() const { return x.count() + dy.count(); }
  // As a worker leaves them, x before dy.
  std::size_t dy_at() const;
  std::size_t bytes() const { return dy_at() + dy.plain_bytes(); }
  // What makes dw [units, ...], or some units of it, of so many workers' factors, whose rows follow one another.
  GemmSpec product(const TensorDesc& dw, std::size_t contributions) const;
};

// How a master comes apart along its first axis: so many rows lie together, in so many elements.
struct Pieces {
  std::int64_t rows = 0, elements = 0;
  // None: it does not lie so.
  static std::optional<Pieces> of(const Device&, const TensorDesc& master);
};

} // namespace dlhost::param
