#include "run/session/pace.h"

#include <algorithm>
#include <vector>

namespace dlhost::run {

double Pace::median() const {
  if (count_ == 0) return 0;
  std::vector<double> sorted(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(kept()));
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
  return sorted[sorted.size() / 2];
}

double Pace::least() const {
  return count_ == 0 ? 0 : *std::min_element(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(kept()));
}

} // namespace dlhost::run
