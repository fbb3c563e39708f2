// Options of two numbers as a range for draws, and windows of random area and aspect.
#pragma once

#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "pictures.h"

namespace dlhost::augment {

struct Range {
  double low = 0, high = 0;
  double draw(Random& random) const { return low + (high - low) * static_cast<double>(random.uniform()); }
};

// Parses [low, high]. Errors: not 0 < low <= high <= most.
inline Result<Range> range_of(std::string_view option, const std::vector<double>& numbers, double most) {
  if (numbers.size() != 2 || !(numbers[0] > 0) || numbers[0] > numbers[1] || numbers[1] > most)
    return Status::invalid(option, " must be [low, high] with 0 < low <= high",
                           std::isfinite(most) ? concat(" <= ", most) : "", ", but has ", numbers.size(), " numbers",
                           numbers.size() == 2 ? concat(", ", numbers[0], " and ", numbers[1]) : "");
  return Range{numbers[0], numbers[1]};
}

// Height and width of a random part of a picture: its share of the area from one range, width over height from the
// other, uniform in the logarithm. Either may be 0, or more than the picture's.
inline std::pair<std::int64_t, std::int64_t> draw_sides(const Picture& picture, const Range& area, const Range& aspect,
                                                        Random& random) {
  const double pixels = static_cast<double>(picture.plane()) * area.draw(random);
  const double ratio = std::exp(Range{std::log(aspect.low), std::log(aspect.high)}.draw(random));
  return {std::llround(std::sqrt(pixels / ratio)), std::llround(std::sqrt(pixels * ratio))};
}

} // namespace dlhost::augment
