#include <array>
#include <bit>

#include "array_file.h"

namespace dlhost::input {

namespace {

std::uint32_t big_endian(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<std::uint32_t>(bytes[at + i]);
  return value;
}

} // namespace

Result<ArrayFile> parse_idx(std::span<const std::byte> bytes) {
  using Element = ArrayFile::Element;
  if (bytes.size() < 4 || bytes[0] != std::byte{0} || bytes[1] != std::byte{0})
    return Status::corrupt("is not an idx file: it does not begin with two zero bytes, a type and a rank");
  Element element{};
  switch (static_cast<unsigned>(bytes[2])) {
  case 0x08: element = Element::u8; break;
  case 0x09: element = Element::i8; break;
  case 0x0B: element = Element::i16; break;
  case 0x0C: element = Element::i32; break;
  case 0x0D: element = Element::f32; break;
  case 0x0E: element = Element::f64; break;
  default:
    return Status::corrupt("byte 2: ", static_cast<unsigned>(bytes[2]),
                           " is not an element type of idx (8, 9, 11, 12, 13 and 14 are)");
  }
  const auto rank = static_cast<std::size_t>(bytes[3]);
  if (rank > max_rank) return Status::unsupported("byte 3: ", rank, " axes, but at most ", max_rank, " are supported");
  if (bytes.size() < 4 + 4 * rank)
    return Status::corrupt("ends at byte ", bytes.size(), ", inside its header of ", 4 + 4 * rank,
                           " bytes; fetch the file again");
  std::array<std::uint64_t, max_rank> dims{};
  for (std::size_t axis = 0; axis < rank; ++axis) dims[axis] = big_endian(bytes, 4 + 4 * axis);
  return array_of(element, std::endian::native == std::endian::little, std::span(dims).first(rank),
                  bytes.subspan(4 + 4 * rank));
}

} // namespace dlhost::input
