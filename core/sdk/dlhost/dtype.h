// Element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <dlhost/visibility.h>

namespace dlhost {

enum class DType : std::uint8_t { f32, f64, bf16, f16, i64, i32, i8, u8 };

constexpr std::size_t size_of(DType type) {
  switch (type) {
  case DType::f64:
  case DType::i64: return 8;
  case DType::f32:
  case DType::i32: return 4;
  case DType::bf16:
  case DType::f16: return 2;
  case DType::i8:
  case DType::u8: return 1;
  }
  return 0;
}

constexpr bool is_float(DType type) { return type <= DType::f16; }

DLHOST_API std::string_view name_of(DType);
DLHOST_API std::optional<DType> dtype_named(std::string_view);

} // namespace dlhost
