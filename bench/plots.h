// Plots side by side of values against a size in bytes, both axes logarithmic; an SVG.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dlhost::bench {

struct Plot {
  struct Line {
    std::string name;
    std::vector<std::pair<std::size_t, double>> values; // by size
  };
  std::string title;
  std::vector<Line> lines; // the same names in all plots
};

std::string draw(const std::string& description, const std::vector<Plot>&);

} // namespace dlhost::bench
