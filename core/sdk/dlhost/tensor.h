// Shapes, formats and tensor descriptions. A description gives a tensor's type, shape and layout; the bytes are passed
// separately as plain pointers into a device's memory.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <dlhost/dtype.h>

namespace dlhost {

inline constexpr std::size_t max_rank = 6;

class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) {
    for (auto dim : dims) push_back(dim);
  }
  constexpr explicit Shape(std::span<const std::int64_t> dims) {
    for (auto dim : dims) push_back(dim);
  }

  constexpr std::size_t rank() const { return rank_; }
  constexpr std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }
  constexpr std::int64_t& operator[](std::size_t axis) { return dims_[axis]; }
  constexpr const std::int64_t* begin() const { return dims_.data(); }
  constexpr const std::int64_t* end() const { return dims_.data() + rank_; }
  constexpr void push_back(std::int64_t dim) {
    assert(rank_ < max_rank);
    dims_[rank_++] = dim;
  }

  // The number of elements; 1 for rank 0.
  constexpr std::int64_t count() const {
    std::int64_t product = 1;
    for (auto dim : *this) product *= dim;
    return product;
  }
  // The product of the dims from `axis` on; past(1) is the size of one sample.
  constexpr std::int64_t past(std::size_t axis) const {
    std::int64_t product = 1;
    for (std::size_t i = axis; i < rank_; ++i) product *= dims_[i];
    return product;
  }
  constexpr Shape with(std::size_t axis, std::int64_t dim) const {
    Shape changed = *this;
    changed.dims_[axis] = dim;
    return changed;
  }
  constexpr bool operator==(const Shape& other) const { return std::ranges::equal(*this, other); }

 private:
  std::array<std::int64_t, max_rank> dims_{};
  std::size_t rank_ = 0;
};

DLHOST_API std::string to_string(const Shape&); // "64x3x32x32"

// The layout of a tensor's elements in memory. `plain` is row-major without gaps. Other ids belong to one device, which
// knows their name, their size and how to convert them; other code must not interpret them. `any` is only for requests:
// the op chooses.
struct Format {
  std::uint32_t id = 0;
  static constexpr Format plain() { return {}; }
  static constexpr Format any() { return {~0U}; }
  constexpr bool is_plain() const { return id == 0; }
  constexpr bool is_any() const { return id == ~0U; }
  constexpr bool operator==(const Format&) const = default;
};

struct TensorDesc {
  DType dtype = DType::f32;
  Shape shape;
  Format format;

  constexpr std::int64_t count() const { return shape.count(); }
  // The bytes of a plain tensor; for other formats ask the device.
  constexpr std::size_t plain_bytes() const { return static_cast<std::size_t>(count()) * size_of(dtype); }
  constexpr TensorDesc as(DType type) const { return {type, shape, format}; }
  constexpr TensorDesc as(Format how) const { return {dtype, shape, how}; }
  constexpr bool operator==(const TensorDesc&) const = default;
};

} // namespace dlhost
