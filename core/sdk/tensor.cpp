#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost {

std::string_view name_of(DType type) {
  switch (type) {
  case DType::f32: return "f32";
  case DType::f64: return "f64";
  case DType::bf16: return "bf16";
  case DType::f16: return "f16";
  case DType::i64: return "i64";
  case DType::i32: return "i32";
  case DType::i8: return "i8";
  case DType::u8: return "u8";
  }
  return "unknown";
}

std::optional<DType> dtype_named(std::string_view name) {
  for (DType type : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32, DType::i8, DType::u8})
    if (name_of(type) == name) return type;
  return std::nullopt;
}

std::string to_string(const Shape& shape) {
  std::string text;
  for (auto dim : shape) text += concat(text.empty() ? "" : "x", dim);
  return text.empty() ? "scalar" : text;
}

} // namespace dlhost
