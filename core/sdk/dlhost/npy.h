// Arrays in NumPy's .npy format: a header with type and shape, then the elements. Pure functions. Thread: any. Files
// are untrusted: everything is checked before use.
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

// The header's contents and the data after it; views into the file's bytes. The number of elements is not checked here.
struct NpyArray {
  std::string_view type; // "<f4": byte order, kind, bytes per element
  std::vector<std::int64_t> shape;
  bool fortran_order = false; // the first axis runs fastest
  std::span<const std::byte> data;
};

// Parses versions 1 to 3 of the format.
DLHOST_API Result<NpyArray> parse_npy(std::span<const std::byte> bytes);

// The dtype of a type word, ignoring its byte order; none: dlhost has no such type.
DLHOST_API std::optional<DType> npy_dtype(std::string_view type);

// The header of an array in C order, little-endian; its length is a multiple of 64. Requires: not bf16, which NumPy
// lacks.
DLHOST_API std::string npy_header(DType, std::span<const std::int64_t> shape);

} // namespace dlhost
