// How long steps take: the durations of the last few thousand, kept in a ring that is made once, so that a summary can
// give a median that a pause of the machine does not spoil.
#pragma once

#include <array>
#include <cstddef>

namespace dlhost::run {

class Pace {
 public:
  void add(double seconds) { ring_[count_++ % ring_.size()] = seconds; }
  // 0 before the first step.
  double median() const;
  double least() const;

 private:
  std::size_t kept() const { return count_ < ring_.size() ? count_ : ring_.size(); }

  std::array<double, 4096> ring_{};
  std::size_t count_ = 0;
};

} // namespace dlhost::run
