#include <bit>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <dlhost/npy.h>

#include "array_file.h"

namespace dlhost::input {

namespace {

using Element = ArrayFile::Element;

std::optional<Element> element_named(std::string_view type) {
  constexpr std::pair<std::string_view, Element> names[] = {
      {"u1", Element::u8},  {"b1", Element::u8},  {"i1", Element::i8},  {"i2", Element::i16}, {"i4", Element::i32},
      {"i8", Element::i64}, {"f2", Element::f16}, {"f4", Element::f32}, {"f8", Element::f64}};
  for (const auto& [name, element] : names)
    if (type.substr(1) == name) return element;
  return {};
}

} // namespace

Result<ArrayFile> npy_samples(std::span<const std::byte> bytes) {
  DLHOST_ASSIGN(const auto array, parse_npy(bytes));
  const auto element = element_named(array.type);
  if (!element)
    return Status::unsupported("elements of type '", array.type,
                               "' are not read; save the array as uint8, int32, int64, float16, float32 or float64");
  if (array.fortran_order)
    return Status::unsupported("the array lies in Fortran order; save it with numpy.ascontiguousarray");
  const std::vector<std::uint64_t> dims(array.shape.begin(), array.shape.end());
  const bool big = array.type.front() == '>';
  return array_of(*element, big == (std::endian::native == std::endian::little), dims, array.data);
}

} // namespace dlhost::input
