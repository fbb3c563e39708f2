// Normal draws for initialisers (Box and Muller).
#pragma once

#include <cmath>
#include <numbers>

#include <dlhost/random.h>

namespace dlhost::plugins {

class Gaussian {
 public:
  explicit Gaussian(Random& random) : random_(random) {}

  // Mean 0, standard deviation 1.
  double operator()() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    const double radius = std::sqrt(-2 * std::log(1.0 - static_cast<double>(random_.uniform())));
    const double angle = 2 * std::numbers::pi * static_cast<double>(random_.uniform());
    second_ = radius * std::sin(angle);
    has_second_ = true;
    return radius * std::cos(angle);
  }

 private:
  Random& random_;
  double second_ = 0;
  bool has_second_ = false;
};

} // namespace dlhost::plugins
