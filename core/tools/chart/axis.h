// The axis of a chart: where a value lies between its ends, and the round numbers that are written along it.
#pragma once

#include <string>
#include <vector>

namespace dlhost::tools {

struct Tick {
  double value = 0;
  std::string label; // empty for one that is drawn but not named
};

class Axis {
 public:
  // About `count` ticks at round numbers; low = high and numbers that are not finite are made to do.
  static Axis linear(double low, double high, int count);
  // Both ends above 0.
  static Axis logarithmic(double low, double high, int count);

  // 0 at the low end, 1 at the high one; beyond them outside.
  double place(double value) const;
  bool shows(double value) const; // finite, and on a logarithmic axis above 0
  double low() const { return low_; }
  double high() const { return high_; }
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  double low_ = 0;
  double high_ = 1;
  bool logarithmic_ = false;
  std::vector<Tick> ticks_;
};

} // namespace dlhost::tools
