// What the gradient of a param is made of: a worker's rows of what a layer read, and of the gradient of what it gave.
// It is their product; or, of a table, what it gave is added to those rows of the table that it read. Where they are
// less than the gradient they are sent in its place, and whoever makes the update makes the gradient: none is ever
// written to memory, and no other worker's is read from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <dlhost/device.h>

namespace dlhost::param {

// Of one worker's rows, plain.
struct Factors {
  TensorDesc x;         // [rows, ...]; of a table: which of its rows, i32
  TensorDesc dy;        // [rows, units]; of a table: x's shape and a row's length, f32
  bool of_rows = false; // of a table

  // A gradient of that shape?
  bool make(const Shape& dw) const;
  std::int64_t elements() const { return x.count() + dy.count(); }
  // As a worker leaves them, x before dy.
  std::size_t dy_at() const;
  std::size_t bytes() const { return dy_at() + dy.plain_bytes(); }
  // What makes dw [units, ...], or some units of it, of so many workers' factors, whose rows follow one another.
  GemmSpec product(const TensorDesc& dw, std::size_t contributions) const;
  // Adds to dw's rows [first, first + count), a table's, what one worker left for them.
  void add_rows(const std::byte* left, std::int64_t first, std::int64_t count, float* dw) const;
};

// How a master comes apart along its first axis: so many rows lie together, in so many elements.
struct Pieces {
  std::int64_t rows = 0, elements = 0;
  // None: it does not lie so.
  static std::optional<Pieces> of(const Device&, const TensorDesc& master);
};

} // namespace dlhost::param
