// The calling thread's modes of rounding, traps and denormal numbers. Loading a library linked with -ffast-math
// switches denormals off; restore() undoes this.
#pragma once

#include <cstdint>

namespace dlhost::plugin {

class FloatState {
 public:
  // Saves the calling thread's state.
  FloatState();
  // Restores it, on the same thread. True: it had been changed; recorded exceptions do not count.
  bool restore() const;
  // Sets the state of a new thread: rounds to nearest, no traps, denormals on.
  static void set_standard();

 private:
  std::uint64_t vector_ = 0; // MXCSR, or FPCR
  std::uint16_t x87_ = 0;
};

} // namespace dlhost::plugin
