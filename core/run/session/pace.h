// Durations of the last few thousand steps, in a preallocated ring. A summary's median is then not disturbed by a pause
// of the machine.
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
