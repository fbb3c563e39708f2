#include "tools/chart/axis.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace dlhost::tools {

namespace {

// Rounds up to 1, 2 or 5 times a power of ten.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

// All ticks of an axis have the same unit, and as many decimals as their distance needs.
std::string label_of(double value, double step, double largest) {
  const double unit = largest >= 1e6 && step >= 1e4 ? 1e6 : largest >= 1e4 && step >= 100 ? 1e3 : 1;
  const char* suffix = unit == 1e6 ? "M" : unit == 1e3 ? "k" : "";
  if (largest < 1e-3 || largest >= 1e10) return value == 0 ? "0" : fmt::format("{:.3g}", value);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step / unit) - 1e-9)), 0, 9);
  if (std::abs(value) < step * 1e-6) return "0";
  return fmt::format("{:.{}f}{}", value / unit, decimals, suffix);
}

std::vector<Tick> round_ticks(double low, double high, int count) {
  const double step = round_step((high - low) / std::max(count, 1));
  std::vector<Tick> ticks;
  for (double at = std::ceil(low / step - 1e-6); at * step <= high + step * 1e-6; ++at)
    ticks.push_back({at * step, label_of(at * step, step, std::max(std::abs(low), std::abs(high)))});
  return ticks;
}

std::vector<Tick> power_ticks(double low, double high, int count) {
  const double decades = std::log10(high / low);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(count, 1))));
  std::vector<Tick> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= std::log10(high) + 1e-9; ++power) {
    for (int digit = 1; digit < 10; ++digit) {
      const double value = digit * std::pow(10, power);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      const bool named = digit == 1 ? power % every == 0 : decades < 2.2 && (digit == 2 || digit == 5);
      if (named)
        ticks.push_back({value, fmt::format("{:g}", value)});
      else if (every == 1)
        ticks.push_back({value, ""});
    }
  }
  return ticks;
}

} // namespace

Axis Axis::linear(double low, double high, int count) {
  Axis axis;
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) low = 0, high = 1;
  if (high - low <= std::abs(high) * 1e-12) {
    const double around = high == 0 ? 1 : std::abs(high) / 10;
    low -= around, high += around;
  }
  axis.low_ = low;
  axis.high_ = high;
  axis.ticks_ = round_ticks(low, high, count);
  return axis;
}

Axis Axis::logarithmic(double low, double high, int count) {
  if (high / low < 1.01) low /= 1.2, high *= 1.2;
  Axis axis;
  axis.logarithmic_ = true;
  axis.low_ = low;
  axis.high_ = high;
  // A span below a factor of 4 contains few powers of ten, and a logarithm is nearly straight there.
  axis.ticks_ = high / low < 4 ? round_ticks(low, high, count) : power_ticks(low, high, count);
  return axis;
}

double Axis::place(double value) const {
  if (!logarithmic_) return (value - low_) / (high_ - low_);
  return std::log(value / low_) / std::log(high_ / low_);
}

bool Axis::shows(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }

} // namespace dlhost::tools
