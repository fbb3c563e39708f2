// A window that moves over the spatial axes of x[n, c, ...], shared by convolution, deconvolution and pooling. An
// option with one number applies to all axes; a list has one for each.
#pragma once

#include <string_view>
#include <vector>

#include <dlhost/layer.h>
#include <dlhost/schema.h>

namespace dlhost::plugins {

struct WindowOptions {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> stride{1};
  std::vector<std::int64_t> pad{0}, pad_end; // empty: as pad
};

template <class Options> SchemaOf<Options> windowed(SchemaOf<Options> schema) {
  using Numbers = std::vector<std::int64_t>;
  return schema
      .option("stride", static_cast<Numbers Options::*>(&WindowOptions::stride), "elements by which the window moves",
              at_least(1))
      .option("pad", static_cast<Numbers Options::*>(&WindowOptions::pad), "zeros on both sides of each axis",
              at_least(0))
      .option("pad_end", static_cast<Numbers Options::*>(&WindowOptions::pad_end),
              "zeros at the end of each axis, if not as many as at its beginning; empty: as pad", at_least(0));
}

// One number for each spatial axis.
inline Result<std::vector<std::int64_t>> each_axis(std::string_view option, const std::vector<std::int64_t>& numbers,
                                                   std::size_t axes) {
  if (numbers.size() == axes) return numbers;
  if (numbers.size() == 1) return std::vector<std::int64_t>(axes, numbers[0]);
  return Status::invalid(option, " has ", numbers.size(), " numbers, but the source has ", axes,
                         " spatial axes: give one number for all of them, or one for each");
}

// Sets a spec's padding at the start and end of each axis.
template <class Spec> Status settle_padding(const WindowOptions& options, std::size_t axes, Spec& spec) {
  DLHOST_ASSIGN(spec.pad_low, each_axis("pad", options.pad, axes));
  spec.pad_high = spec.pad_low;
  if (options.pad_end.empty()) return {};
  DLHOST_ASSIGN(spec.pad_high, each_axis("pad_end", options.pad_end, axes));
  return {};
}

} // namespace dlhost::plugins
