// Writes a picture as SVG text, for charts of runs and benchmarks. Sizes are in pixels. Attributes are SVG text
// ("class=\"grid\""); other texts are escaped here.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dlhost::tools {

struct Place {
  double x = 0;
  double y = 0;
};

class Svg {
 public:
  // `title`: for screen readers; `style`: CSS.
  Svg(double width, double height, std::string_view title, std::string_view style);

  void rectangle(Place corner, double width, double height, std::string_view attributes);
  void line(Place from, Place to, std::string_view attributes);
  // `title`: the tooltip; empty: none.
  void curve(std::span<const Place> places, std::string_view attributes, std::string_view title = {});
  void dot(Place center, double radius, std::string_view attributes);
  void text(Place at, std::string_view text, std::string_view attributes);
  // Draws nothing outside of the rectangle until end_group().
  void begin_clip(Place corner, double width, double height);
  void end_group();

  // Returns the whole file. Call last.
  std::string finish();

 private:
  std::string text_;
  int clips_ = 0;
};

// Turns <, >, & and quotes into entities, and characters that XML forbids into U+FFFD.
std::string escaped(std::string_view text);

} // namespace dlhost::tools
