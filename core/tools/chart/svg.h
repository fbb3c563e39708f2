// Writes a picture as SVG text: what the charts of runs and benchmarks draw with. Sizes are in pixels; attributes are
// given as SVG has them ("class=\"grid\""), and texts are escaped here.
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
  // `title` is what programs that read pictures aloud say; `style` is CSS.
  Svg(double width, double height, std::string_view title, std::string_view style);

  void rectangle(Place corner, double width, double height, std::string_view attributes);
  void line(Place from, Place to, std::string_view attributes);
  // The title shows where the mouse rests; none when empty.
  void curve(std::span<const Place> places, std::string_view attributes, std::string_view title = {});
  void dot(Place center, double radius, std::string_view attributes);
  void text(Place at, std::string_view text, std::string_view attributes);
  // Nothing is drawn outside of a clip's rectangle; close it with end_group().
  void begin_clip(Place corner, double width, double height);
  void end_group();

  // The whole file. Nothing can be drawn after it.
  std::string finish();

 private:
  std::string text_;
  int clips_ = 0;
};

// <, >, & and quotes as entities; what no XML may have becomes U+FFFD.
std::string escaped(std::string_view text);

} // namespace dlhost::tools
