#include "plugin/cpu.h"

#include <dlhost/stamp.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace dlhost::plugin {

#if defined(__x86_64__)

namespace {

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Leaf leaf(unsigned number, unsigned sub = 0) {
  Leaf l;
  if (!__get_cpuid_count(number, sub, &l.a, &l.b, &l.c, &l.d)) return {};
  return l;
}

// The register states that the system saves: without them AVX traps even if the CPU has it.
std::uint64_t saved_states(const Leaf& basic) {
  if (!(basic.c & bit_OSXSAVE)) return 0;
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

} // namespace

std::uint64_t cpu_isa() {
  const Leaf basic = leaf(1), wide = leaf(7), wider = leaf(7, 1), extended = leaf(0x80000001);
  const std::uint64_t states = saved_states(basic);
  const bool ymm = (states & 0x6) == 0x6, zmm = (states & 0xe6) == 0xe6, tiles = (states & 0x60000) == 0x60000;
  const struct {
    bool there;
    StampIsa isa;
  } table[] = {
      {(basic.c & bit_SSE3) != 0, isa_sse3},
      {(basic.c & bit_SSSE3) != 0, isa_ssse3},
      {(basic.c & bit_SSE4_1) != 0, isa_sse41},
      {(basic.c & bit_SSE4_2) != 0, isa_sse42},
      {(basic.c & bit_POPCNT) != 0, isa_popcnt},
      {(basic.c & bit_MOVBE) != 0, isa_movbe},
      {(extended.c & bit_LZCNT) != 0, isa_lzcnt},
      {(wide.b & bit_BMI) != 0, isa_bmi},
      {(wide.b & bit_BMI2) != 0, isa_bmi2},
      {ymm && (basic.c & bit_AVX), isa_avx},
      {ymm && (basic.c & bit_F16C), isa_f16c},
      {ymm && (basic.c & bit_FMA), isa_fma},
      {ymm && (wide.b & bit_AVX2), isa_avx2},
      {zmm && (wide.b & bit_AVX512F), isa_avx512f},
      {zmm && (wide.b & bit_AVX512BW), isa_avx512bw},
      {zmm && (wide.b & bit_AVX512DQ), isa_avx512dq},
      {zmm && (wide.b & bit_AVX512VL), isa_avx512vl},
      {zmm && (wider.a & bit_AVX512BF16), isa_avx512_bf16},
      {zmm && (wide.d & (1U << 23)), isa_avx512_fp16},
      {tiles && (wide.d & (1U << 24)), isa_amx},
  };
  std::uint64_t isa = 0;
  for (const auto& row : table)
    if (row.there) isa |= row.isa;
  return isa;
}

#elif defined(__aarch64__)

std::uint64_t cpu_isa() {
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  std::uint64_t isa = 0;
  if (first & (1UL << 22)) isa |= isa_arm_sve;
  if (second & (1UL << 14)) isa |= isa_arm_bf16;
  return isa;
}

#else

std::uint64_t cpu_isa() { return 0; }

#endif

} // namespace dlhost::plugin
