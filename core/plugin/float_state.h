// How this thread's floating-point unit rounds, traps and treats denormal numbers. A library that was linked with
// -ffast-math switches denormals off in whoever loads it; this puts the state back and tells.
#pragma once

#include <cstdint>

namespace dlhost::plugin {

class FloatState {
 public:
  // Remembers the calling thread's state.
  FloatState();
  // Puts it back, on the same thread; true when it had been changed. Exceptions that were merely recorded do not count.
  bool restore() const;
  // What a thread begins with: rounds to nearest, traps nothing, knows denormal numbers.
  static void set_standard();

 private:
  std::uint64_t vector_ = 0; // MXCSR, or FPCR
  std::uint16_t x87_ = 0;
};

} // namespace dlhost::plugin
