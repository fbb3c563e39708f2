#include "param/npy.h"

#include <fmt/format.h>

namespace dlhost::param {

std::string npy_header(std::span<const std::int64_t> shape) {
  std::string dims;
  for (const auto dim : shape) dims += fmt::format("{}, ", dim);
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", dims);
  constexpr std::size_t before = 10; // magic, version, length
  text.resize((before + text.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  text += '\n';
  const auto length = static_cast<unsigned>(text.size());
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(length & 0xFF);
  header += static_cast<char>(length >> 8);
  return header + text;
}

} // namespace dlhost::param
