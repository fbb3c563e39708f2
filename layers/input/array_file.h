// Arrays in files (idx, npy): a header, then the elements, row-major. Pure: bytes in, view out, so that sources and
// fuzz targets share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dlhost/status.h>
#include <dlhost/tensor.h>

#include "scaled.h"

namespace dlhost::input {

struct ArrayFile {
  enum class Element : std::uint8_t { u8, i8, i16, i32, i64, f16, f32, f64 };

  Element element = Element::u8;
  bool swapped = false; // elements are in the other byte order than this machine's
  Shape shape;
  std::span<const std::byte> data; // exactly shape.count() elements

  std::int64_t rows() const { return shape[0]; }
  std::size_t row_elements() const { return static_cast<std::size_t>(shape.past(1)); }
  // The dtype of a row: bytes stay bytes, other integers become i32, the rest f32.
  DType natural() const;
  // Writes a row as `natural`, or as f32 with a scaling. 64-bit integers that do not fit are cut: see fits().
  void copy_row(std::int64_t row, std::byte* dst) const;
  void copy_row(std::int64_t row, float* dst, Scaling) const;
  // False: a 64-bit integer does not fit into i32.
  bool fits() const;
};

std::size_t size_of(ArrayFile::Element);

// Checks that `bytes` are exactly the elements of the shape, and completes the view. Requires: at least one axis.
Result<ArrayFile> array_of(ArrayFile::Element, bool swapped, std::span<const std::uint64_t> dims,
                           std::span<const std::byte> bytes);

// Parses the idx format of MNIST: big-endian, with type and rank in a magic number.
Result<ArrayFile> parse_idx(std::span<const std::byte> bytes);
// Parses NumPy's npy format: numbers, C order.
Result<ArrayFile> npy_samples(std::span<const std::byte> bytes);

} // namespace dlhost::input
