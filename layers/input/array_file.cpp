#include "array_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <dlhost/half.h>

namespace dlhost::input {

namespace {

using Element = ArrayFile::Element;

struct Half {
  std::uint16_t bits;
  explicit operator float() const { return float_of_f16(bits); }
  explicit operator std::int32_t() const { return static_cast<std::int32_t>(static_cast<float>(*this)); }
};

template <class T> T load(const std::byte* src, bool swapped) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), src, sizeof(T));
  if (swapped) std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

// Calls visit(T{}) with the element's type.
template <class Visit> void with_type(Element element, Visit&& visit) {
  switch (element) {
  case Element::u8: return visit(std::uint8_t{});
  case Element::i8: return visit(std::int8_t{});
  case Element::i16: return visit(std::int16_t{});
  case Element::i32: return visit(std::int32_t{});
  case Element::i64: return visit(std::int64_t{});
  case Element::f16: return visit(Half{});
  case Element::f32: return visit(float{});
  case Element::f64: return visit(double{});
  }
}

} // namespace

std::size_t size_of(Element element) {
  std::size_t bytes = 0;
  with_type(element, [&](auto type) { bytes = sizeof type; });
  return bytes;
}

DType ArrayFile::natural() const {
  if (element == Element::u8) return DType::u8;
  return element < Element::f16 ? DType::i32 : DType::f32;
}

void ArrayFile::copy_row(std::int64_t row, std::byte* dst) const {
  const std::size_t count = row_elements(), bytes = count * size_of(element);
  const std::byte* src = data.data() + static_cast<std::size_t>(row) * bytes;
  const bool as_it_lies = element == Element::u8 || element == Element::i32 || element == Element::f32;
  if (as_it_lies && (!swapped || element == Element::u8)) {
    std::memcpy(dst, src, bytes);
    return;
  }
  with_type(element, [&](auto type) {
    using T = decltype(type);
    for (std::size_t i = 0; i < count; ++i) {
      const T value = load<T>(src + i * sizeof(T), swapped);
      if (natural() == DType::i32) {
        const auto whole = static_cast<std::int32_t>(value);
        std::memcpy(dst + i * 4, &whole, 4);
      } else {
        const auto real = static_cast<float>(value);
        std::memcpy(dst + i * 4, &real, 4);
      }
    }
  });
}

void ArrayFile::copy_row(std::int64_t row, float* dst, Scaling scaling) const {
  const std::size_t count = row_elements(), bytes = count * size_of(element);
  const std::byte* src = data.data() + static_cast<std::size_t>(row) * bytes;
  if (element == Element::u8) {
    to_float(reinterpret_cast<const std::uint8_t*>(src), dst, count, scaling);
    return;
  }
  with_type(element, [&](auto type) {
    using T = decltype(type);
    for (std::size_t i = 0; i < count; ++i)
      dst[i] = (static_cast<float>(load<T>(src + i * sizeof(T), swapped)) - scaling.mean) * scaling.scale;
  });
}

bool ArrayFile::fits() const {
  if (element != Element::i64) return true;
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const auto value = load<std::int64_t>(data.data() + at, swapped);
    if (value != static_cast<std::int32_t>(value)) return false;
  }
  return true;
}

Result<ArrayFile> array_of(Element element, bool swapped, std::span<const std::uint64_t> dims,
                           std::span<const std::byte> bytes) {
  if (dims.empty()) return Status::corrupt("holds a single number, but an array of samples is wanted");
  if (dims.size() > max_rank)
    return Status::unsupported("has ", dims.size(), " axes, but at most ", max_rank, " are supported");
  ArrayFile array{element, swapped, {}, bytes};
  // Divides the existing bytes instead of multiplying the claimed sizes, so that nothing overflows.
  std::uint64_t left = bytes.size() / size_of(element);
  const bool none = std::ranges::find(dims, 0U) != dims.end();
  for (const std::uint64_t dim : dims) {
    if (!none && dim > left)
      return Status::corrupt("the header announces more elements than the ", bytes.size(),
                             " bytes behind it hold; the file is cut off: fetch it again");
    if (!none) left /= dim;
    array.shape.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(dim, std::uint64_t{1} << 62)));
  }
  if (none) return Status::corrupt("holds no elements: an axis of its shape is 0");
  const std::uint64_t expected = static_cast<std::uint64_t>(array.shape.count()) * size_of(element);
  if (expected != bytes.size())
    return Status::corrupt("the shape ", to_string(array.shape), " makes ", expected,
                           " bytes of elements, but there are ", bytes.size(), "; fetch the file again");
  return array;
}

} // namespace dlhost::input
