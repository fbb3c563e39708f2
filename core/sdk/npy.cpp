#include <dlhost/npy.h>

#include <charconv>
#include <cstring>

namespace dlhost {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Word {
  std::string_view word; // without the byte order
  DType type;
};
// npy_header writes the first entry of a type.
constexpr Word words[] = {{"f4", DType::f32}, {"f8", DType::f64}, {"f2", DType::f16}, {"i8", DType::i64},
                          {"i4", DType::i32}, {"i1", DType::i8},  {"u1", DType::u8},  {"b1", DType::u8}};

// The header is a Python dict of three known keys, always written by NumPy in the same manner: keys are searched, not
// parsed in full. Returns the text after 'key':, without leading blanks.
std::string_view value_of(std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const auto word = concat(quote, key, quote);
    const auto at = header.find(word);
    if (at == std::string_view::npos) continue;
    const auto rest = header.substr(at + word.size());
    const auto start = rest.find_first_not_of(" :");
    return start == std::string_view::npos ? std::string_view{} : rest.substr(start);
  }
  return {};
}

Result<std::string_view> parse_type(std::string_view value) {
  const char quote = value.empty() ? ' ' : value.front();
  const auto end = value.find(quote, 1);
  if ((quote != '\'' && quote != '"') || end == std::string_view::npos || end < 3)
    return Status::unsupported("elements of type ", value.substr(0, value.find_first_of(",}")),
                               " are not read; save the array as uint8, int32, int64, float16, float32 or float64");
  return value.substr(1, end - 1);
}

Result<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  constexpr std::size_t most = 64; // most axes, as in NumPy
  std::vector<std::int64_t> shape;
  if (!text.starts_with('(')) return Status::corrupt("the header has no shape");
  text.remove_prefix(1);
  for (;;) {
    const auto start = text.find_first_not_of(" ,");
    if (start == std::string_view::npos) return Status::corrupt("the header's shape does not end");
    text.remove_prefix(start);
    if (text.front() == ')') return shape;
    if (shape.size() == most) return Status::unsupported("more than ", most, " axes");
    std::int64_t dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc{} || dim < 0)
      return Status::corrupt("the header's shape holds something that is not a size");
    shape.push_back(dim);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

} // namespace

Result<NpyArray> parse_npy(std::span<const std::byte> bytes) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    return Status::corrupt("is not an npy file: it does not begin with \\x93NUMPY");
  const auto version = static_cast<unsigned>(bytes[6]);
  if (version < 1 || version > 3) return Status::unsupported("npy version ", version, "; known are 1, 2 and 3");
  // The header's length follows the version, in 2 or 4 bytes.
  const std::size_t digits = version == 1 ? 2 : 4, start = 8 + digits;
  if (bytes.size() < start) return Status::corrupt("ends inside its header; fetch the file again");
  std::size_t length = 0;
  for (std::size_t i = digits; i-- > 0;) length = length << 8U | static_cast<std::size_t>(bytes[8 + i]);
  if (length > bytes.size() - start)
    return Status::corrupt("ends at byte ", bytes.size(), ", inside its header; fetch the file again");
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + start, length);
  NpyArray array;
  DLHOST_ASSIGN(array.type, parse_type(value_of(header, "descr")));
  DLHOST_ASSIGN(array.shape, parse_shape(value_of(header, "shape")));
  const auto order = value_of(header, "fortran_order");
  array.fortran_order = order.starts_with("True");
  if (!array.fortran_order && !order.starts_with("False"))
    return Status::corrupt("the header does not say whether the array lies in Fortran order");
  array.data = bytes.subspan(start + length);
  return array;
}

std::optional<DType> npy_dtype(std::string_view type) {
  for (const auto& [word, dtype] : words)
    if (!type.empty() && type.substr(1) == word) return dtype;
  return {};
}

std::string npy_header(DType dtype, std::span<const std::int64_t> shape) {
  std::string_view type;
  for (const auto& word : words)
    if (type.empty() && word.type == dtype) type = word.word;
  std::string dims;
  for (const auto dim : shape) dims += concat(dims.empty() ? "" : " ", dim, ",");
  if (shape.size() > 1) dims.pop_back(); // Python needs the last comma only after a single number
  std::string text = concat("{'descr': '", size_of(dtype) == 1 ? '|' : '<', type,
                            "', 'fortran_order': False, 'shape': (", dims, "), }");
  constexpr std::size_t before = 10, unit = 64; // bytes before the text; alignment of the whole
  text.append((unit - (before + text.size() + 1) % unit) % unit, ' ');
  text += '\n';
  std::string whole(magic);
  whole += '\x01';
  whole += '\x00';
  whole += static_cast<char>(text.size() & 0xFF);
  whole += static_cast<char>(text.size() >> 8);
  return whole + text;
}

} // namespace dlhost
