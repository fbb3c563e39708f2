// A window that moves over the spatial axes of x[n, c, ...]: what convolution, deconvolution and pooling have in
// common. An option of one number stands for all axes, a list has one for each.
#pragma once

#include <string_view>
#include <vector>

#include <dlhost/layer.h>
#include <dlhost/schema.h>

namespace dlhost::plugins {

struct WindowOptions {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> stride{1};
  std::vector<std::int64_t> pad{0};
};

template <class Options> SchemaOf<Options> windowed(SchemaOf<Options> schema) {
  using Numbers = std::vector<std::int64_t>;
  return schema
      .option("stride", static_cast<Numbers Options::*>(&WindowOptions::stride), "by how much it moves", at_least(1))
      .option("pad", static_cast<Numbers Options::*>(&WindowOptions::pad), "zeros on both sides of each axis",
              at_least(0));
}

// One number for each of the spatial axes.
inline Result<std::vector<std::int64_t>> each_axis(std::string_view option, const std::vector<std::int64_t>& numbers,
                                                   std::size_t axes) {
  if (numbers.size() == axes) return numbers;
  if (numbers.size() == 1) return std::vector<std::int64_t>(axes, numbers[0]);
  return Status::invalid(option, " has ", numbers.size(), " numbers, but the source has ", axes,
                         " spatial axes: give one number for all of them, or one for each");
}

} // namespace dlhost::plugins
