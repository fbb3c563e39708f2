// Arrays as NumPy's .npy files hold them: a header, which says type and shape, then the elements. Pure functions, for
// any thread; nothing in a file is believed before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/dtype.h>
#include <dlhost/status.h>

namespace dlhost {

// What the header says, and what stands behind it; views into the file's bytes. The elements are not counted here.
struct NpyArray {
  std::string_view type; // "<f4": byte order, kind, bytes of an element
  std::vector<std::int64_t> shape;
  bool fortran_order = false; // the first axis runs fastest
  std::span<const std::byte> data;
};

// Versions 1 to 3 of the format.
DLHOST_API Result<NpyArray> parse_npy(std::span<const std::byte> bytes);

// The element type that a type word stands for, its byte order aside; none: dlhost has no such type.
DLHOST_API std::optional<DType> npy_dtype(std::string_view type);

// The bytes in front of the elements of an array in C order, little-endian; a multiple of 64. bf16, which NumPy does
// not have, is not to be asked for.
DLHOST_API std::string npy_header(DType, std::span<const std::int64_t> shape);

} // namespace dlhost
