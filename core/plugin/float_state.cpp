#include "plugin/float_state.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dlhost::plugin {

#if defined(__x86_64__)

namespace {

constexpr std::uint64_t recorded_exceptions = 0x3f;

std::uint16_t x87_control() {
  std::uint16_t word = 0;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}

} // namespace

FloatState::FloatState() : vector_(_mm_getcsr()), x87_(x87_control()) {}

bool FloatState::restore() const {
  const std::uint64_t now = _mm_getcsr();
  const bool changed = ((now ^ vector_) & ~recorded_exceptions) != 0 || x87_control() != x87_;
  if (!changed) return false;
  _mm_setcsr(static_cast<unsigned>(vector_));
  __asm__ volatile("fldcw %0" : : "m"(x87_));
  return true;
}

void FloatState::set_standard() {
  constexpr unsigned vector = 0x1f80;
  constexpr std::uint16_t x87 = 0x37f;
  _mm_setcsr(vector);
  __asm__ volatile("fldcw %0" : : "m"(x87));
}

#elif defined(__aarch64__)

FloatState::FloatState() { __asm__ volatile("mrs %0, fpcr" : "=r"(vector_)); }

bool FloatState::restore() const {
  std::uint64_t now = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(now));
  if (now == vector_) return false;
  __asm__ volatile("msr fpcr, %0" : : "r"(vector_));
  return true;
}

void FloatState::set_standard() { __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{0})); }

#else

FloatState::FloatState() = default;
bool FloatState::restore() const { return false; }
void FloatState::set_standard() {}

#endif

} // namespace dlhost::plugin
