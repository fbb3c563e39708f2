#include "param/file/plain.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <dlhost/half.h>

namespace dlhost::param {

namespace {

template <class T> T stored(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

float element(const NamedTensor& tensor, std::size_t index) {
  switch (tensor.dtype) {
  case DType::f64: return static_cast<float>(stored<double>(tensor.bytes, index));
  case DType::bf16: return float_of_bf16(stored<std::uint16_t>(tensor.bytes, index));
  case DType::f16: return float_of_f16(stored<std::uint16_t>(tensor.bytes, index));
  default: return stored<float>(tensor.bytes, index);
  }
}

} // namespace

std::vector<float> plain_values(const NamedTensor& tensor, std::span<const std::int64_t> order) {
  std::vector<float> values;
  values.reserve(tensor.bytes.size() / size_of(tensor.dtype));
  each_reordered(tensor.shape, order, [&](std::size_t from) { values.push_back(element(tensor, from)); });
  return values;
}

PlainView::PlainView(const NamedTensor& tensor, std::span<const std::int64_t> order) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(float) == 0;
  if (tensor.dtype == DType::f32 && std::ranges::is_sorted(order) && aligned) {
    values_ = {reinterpret_cast<const float*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(float)};
    return;
  }
  made_ = plain_values(tensor, order);
  values_ = made_;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text;
  for (const auto dim : shape) text += concat(text.empty() ? "" : "x", dim);
  return text.empty() ? "a single number" : text;
}

std::vector<std::int64_t> reordered(std::span<const std::int64_t> shape, std::span<const std::int64_t> order) {
  std::vector<std::int64_t> result(shape.begin(), shape.end());
  for (std::size_t axis = 0; axis < order.size() && order.size() == shape.size(); ++axis)
    result[axis] = shape[static_cast<std::size_t>(order[axis])];
  return result;
}

} // namespace dlhost::param
