#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "array_file.h"

namespace dlhost::input {

namespace {

using Element = ArrayFile::Element;

// The header is a Python dict of three known keys, written by NumPy in a fixed manner: found by key, not parsed in
// full.
class Header {
 public:
  explicit Header(std::string_view text) : text_(text) {}

  // What stands behind 'key':, without blanks in front.
  std::string_view value(std::string_view key) const {
    for (const char quote : {'\'', '"'}) {
      const auto word = concat(quote, key, quote);
      const auto at = text_.find(word);
      if (at == std::string_view::npos) continue;
      auto rest = text_.substr(at + word.size());
      const auto start = rest.find_first_not_of(" :");
      return start == std::string_view::npos ? std::string_view{} : rest.substr(start);
    }
    return {};
  }

 private:
  std::string_view text_;
};

std::optional<std::pair<Element, std::size_t>> element_named(std::string_view type) {
  constexpr std::pair<std::string_view, Element> names[] = {
      {"u1", Element::u8},  {"b1", Element::u8},  {"i1", Element::i8},  {"i2", Element::i16}, {"i4", Element::i32},
      {"i8", Element::i64}, {"f2", Element::f16}, {"f4", Element::f32}, {"f8", Element::f64}};
  for (const auto& [name, element] : names)
    if (type == name) return std::pair{element, size_of(element)};
  return {};
}

Result<std::size_t> parse_shape(std::string_view text, std::array<std::uint64_t, max_rank>& dims) {
  if (!text.starts_with('(')) return Status::corrupt("the header has no shape");
  text.remove_prefix(1);
  std::size_t rank = 0;
  for (;;) {
    const auto start = text.find_first_not_of(" ,");
    if (start == std::string_view::npos) return Status::corrupt("the header's shape does not end");
    text.remove_prefix(start);
    if (text.front() == ')') return rank;
    if (rank == max_rank) return Status::unsupported("more than ", max_rank, " axes");
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dims[rank++]);
    if (error != std::errc{}) return Status::corrupt("the header's shape holds something that is no size");
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

// Where the header's text is; its length lies behind the version, in 2 or 4 bytes.
Result<std::pair<std::size_t, std::size_t>> header_of(std::span<const std::byte> bytes) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (bytes.size() < 10 || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    return Status::corrupt("is no npy file: it does not begin with \\x93NUMPY");
  const auto version = static_cast<unsigned>(bytes[6]);
  if (version < 1 || version > 3) return Status::unsupported("npy version ", version, "; known are 1, 2 and 3");
  const std::size_t digits = version == 1 ? 2 : 4, start = 8 + digits;
  if (bytes.size() < start) return Status::corrupt("ends inside its header; fetch the file again");
  std::size_t length = 0;
  for (std::size_t i = digits; i-- > 0;) length = length << 8U | static_cast<std::size_t>(bytes[8 + i]);
  if (length > bytes.size() - start)
    return Status::corrupt("ends at byte ", bytes.size(), ", inside its header; fetch the file again");
  return std::pair{start, length};
}

} // namespace

Result<ArrayFile> parse_npy(std::span<const std::byte> bytes) {
  DLHOST_ASSIGN(const auto place, header_of(bytes));
  const auto [start, length] = place;
  const Header header({reinterpret_cast<const char*>(bytes.data()) + start, length});
  const std::string_view type = header.value("descr");
  const auto element = type.size() >= 5 ? element_named(type.substr(2, 2)) : std::nullopt;
  if (!element || (type[0] != '\'' && type[0] != '"') || type[4] != type[0])
    return Status::unsupported("elements of type ", type.substr(0, type.find_first_of(",}")),
                               " are not read; save the array as uint8, int32, int64, float16, float32 or float64");
  if (!header.value("fortran_order").starts_with("False"))
    return Status::unsupported("the array lies in Fortran order; save it with numpy.ascontiguousarray");
  std::array<std::uint64_t, max_rank> dims{};
  DLHOST_ASSIGN(const auto rank, parse_shape(header.value("shape"), dims));
  const bool big = type[1] == '>';
  return array_of(element->first, big == (std::endian::native == std::endian::little), std::span(dims).first(rank),
                  bytes.subspan(start + length));
}

} // namespace dlhost::input
