// Plain tensors on the host, of any float type and with their axes in another order, as f32. For exchange, never for
// the step loop.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "param/file/safetensors.h"

namespace dlhost::param {

// The elements as f32, row-major over the axes in the order given: axis i of the result is axis order[i] of the tensor.
// The tensor is of a float type.
std::vector<float> plain_values(const NamedTensor&, std::span<const std::int64_t> order = {});

// The same, where they lie if they lie so: of a large param, a copy would be what a run needs most memory for.
class PlainView {
 public:
  explicit PlainView(const NamedTensor&, std::span<const std::int64_t> order = {});
  std::span<const float> values() const { return values_; }

 private:
  std::vector<float> made_;
  std::span<const float> values_;
};

std::string shape_text(std::span<const std::int64_t> shape); // "4x7"

std::vector<std::int64_t> reordered(std::span<const std::int64_t> shape, std::span<const std::int64_t> order);

// For each element of the result, row-major, where it stands in the source: call(from).
template <class Call>
void each_reordered(std::span<const std::int64_t> shape, std::span<const std::int64_t> order, Call&& call) {
  const std::size_t rank = shape.size();
  std::vector<std::int64_t> stride(rank, 1), dims(rank), step(rank), at(rank);
  for (std::size_t axis = rank; axis-- > 1;) stride[axis - 1] = stride[axis] * shape[axis];
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto source = order.empty() ? axis : static_cast<std::size_t>(order[axis]);
    dims[axis] = shape[source];
    step[axis] = stride[source];
    count *= dims[axis];
  }
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    call(static_cast<std::size_t>(from));
    for (std::size_t axis = rank; axis-- > 0;) {
      from += step[axis];
      if (++at[axis] < dims[axis]) break;
      from -= step[axis] * dims[axis];
      at[axis] = 0;
    }
  }
}

} // namespace dlhost::param
