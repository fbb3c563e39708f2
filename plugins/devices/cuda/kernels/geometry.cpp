#include "geometry.h"

namespace dlhost::plugins::cuda {

Result<Geometry> Geometry::make(std::string_view op, const Shape& x, const Shape& y,
                                std::span<const std::int64_t> window, std::span<const std::int64_t> stride,
                                std::span<const std::int64_t> pad_low, std::span<const std::int64_t> pad_high,
                                std::span<const std::int64_t> dilation) {
  const std::size_t axes = x.rank() < 2 ? 0 : x.rank() - 2;
  if (axes < 1 || axes > 3 || y.rank() != x.rank())
    return Status::invalid(op, ": needs one to three axes of space, and gets ", to_string(x), " and ", to_string(y));
  for (const auto& list : {window, stride, pad_low, pad_high, dilation})
    if (list.size() != axes)
      return Status::invalid(op, ": window, stride, padding and dilation need one number for each of ", axes, " axes");
  Geometry made;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t d = 3 - axes + i;
    made.big[d] = x[i + 2];
    made.small[d] = y[i + 2];
    made.window[d] = window[i];
    made.stride[d] = stride[i];
    made.pad[d] = pad_low[i];
    made.dilation[d] = dilation[i];
    const std::int64_t room = x[i + 2] + pad_low[i] + pad_high[i] - dilation[i] * (window[i] - 1) - 1;
    if (window[i] < 1 || stride[i] < 1 || dilation[i] < 1 || room < 0 || room / stride[i] + 1 != y[i + 2])
      return Status::invalid(op, ": a window of ", window[i], " with stride ", stride[i], ", padding ", pad_low[i],
                             " and ", pad_high[i], " and dilation ", dilation[i], " does not take ", x[i + 2], " to ",
                             y[i + 2]);
  }
  return made;
}

} // namespace dlhost::plugins::cuda
