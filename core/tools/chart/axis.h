// The axis of a chart: the relative place of values, and round numbers as ticks.
#pragma once

#include <string>
#include <vector>

namespace dlhost::tools {

struct Tick {
  double value = 0;
  std::string label; // empty: a tick without a label
};

class Axis {
 public:
  // About `count` ticks at round numbers. Also accepts low = high and infinite or NaN ends.
  static Axis linear(double low, double high, int count);
  // Requires: both ends are above 0.
  static Axis logarithmic(double low, double high, int count);

  // 0 at the low end, 1 at the high end; below 0 or above 1 outside of them.
  double place(double value) const;
  bool shows(double value) const; // finite, and above 0 on a logarithmic axis
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
