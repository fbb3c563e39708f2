// The factors of a param's gradient: a worker's rows of a layer's input (x) and of its output gradient (dy). The
// gradient is their product. For a table, the rows of dy are added to the table rows numbered by x. If the factors are
// smaller than the gradient, workers send them instead, and the process that updates the param multiplies. Then no
// whole gradient is written to memory or read from another worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <dlhost/device.h>

namespace dlhost::param {

// The factors of one worker, in plain format.
struct Factors {
  TensorDesc x;         // [rows, ...]; for a table: numbers of its rows, i32
  TensorDesc dy;        // [rows, units]; for a table: x's shape and the row length, f32
  bool of_rows = false; // the param is a table

  // True if the factors make a gradient of this shape.
  bool make(const Shape& dw) const;
  std::int64_t elements() const { return x.count() + dy.count(); }
  // Offset of dy in a worker's contribution: x comes first.
  std::size_t dy_at() const;
  std::size_t bytes() const { return dy_at() + dy.plain_bytes(); }
  // The product of `contributions` workers' factors, stored one after the other. dw is [units, ...], or some of the
  // units.
  GemmSpec product(const TensorDesc& dw, std::size_t contributions) const;
  // Adds one worker's contribution to the rows [first, first + count) of a table's dw.
  void add_rows(const std::byte* left, std::int64_t first, std::int64_t count, float* dw) const;
};

// How a master can be cut along its first axis: `rows` rows are contiguous, in `elements` elements.
struct Pieces {
  std::int64_t rows = 0, elements = 0;
  // Empty: the master cannot be cut.
  static std::optional<Pieces> of(const Device&, const TensorDesc& master);
};

} // namespace dlhost::param
