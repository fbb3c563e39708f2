// The formats of ref: plain, and a blocked one as other devices have. It splits axis 1 into blocks of eight, which are
// innermost ("aBx8b"). The last block is padded with zeros, which ops keep.
#pragma once

#include <cstdint>
#include <string>

#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost::plugins::ref {

inline constexpr Format blocked{1};
inline constexpr std::int64_t block = 8;

inline bool can_block(const Shape& shape) { return shape.rank() >= 2; }
// Errors: the format is not ref's, or not for this shape.
Status check_format(const TensorDesc&);
std::int64_t stored_count(const TensorDesc&); // padding included
std::string name_of_format(const TensorDesc&);
Result<Format> format_of_name(const TensorDesc& plain, const std::string& name);

// The place in memory of a logical element (in row-major order).
inline std::int64_t place_of(const TensorDesc& desc, std::int64_t element) {
  if (desc.format.is_plain()) return element;
  const std::int64_t inner = desc.shape.past(2), x = element % inner;
  const std::int64_t c = element / inner % desc.shape[1], n = element / inner / desc.shape[1];
  return ((n * ((desc.shape[1] + block - 1) / block) + c / block) * inner + x) * block + c % block;
}

// Calls body(logical element in row-major order, its place in memory).
template <class Body> void each_place(const TensorDesc& desc, Body&& body) {
  const std::int64_t count = desc.count();
  if (desc.format.is_plain()) {
    for (std::int64_t i = 0; i < count; ++i) body(i, i);
    return;
  }
  const std::int64_t channels = desc.shape[1], inner = desc.shape.past(2);
  const std::int64_t blocks = (channels + block - 1) / block;
  for (std::int64_t n = 0, i = 0; n < desc.shape[0]; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t x = 0; x < inner; ++x) body(i++, ((n * blocks + c / block) * inner + x) * block + c % block);
}

} // namespace dlhost::plugins::ref
