// The stamp: the part of a plugin file that the host reads before it lets the loader open the file.
//
// It lies in the ELF note `.note.dlhost` (allocated, constant, without pointers), so that PT_NOTE leads to it in a file
// that is only read. It contains everything that can make two C++ binaries incompatible. Its layout never changes; a
// new epoch may only append to `provides`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <dlhost/epoch.h>

namespace dlhost {

inline constexpr char stamp_owner[8] = "dlhost\0";
inline constexpr std::uint32_t stamp_type = 0x646c6801; // "dlh" and the layout's number
inline constexpr std::uint64_t stamp_magic = 0x31676c70'74736f68;

enum StampFlag : std::uint32_t {
  stamp_cxx11_strings = 1U << 0,
  stamp_glibcxx_debug = 1U << 1,
  stamp_address_sanitizer = 1U << 2,
  stamp_thread_sanitizer = 1U << 3,
  stamp_undefined_sanitizer = 1U << 4,
  stamp_libcxx = 1U << 5, // LLVM's library instead of GNU's
};

// Instruction sets that the compiler may use without a check of the CPU.
enum StampIsa : std::uint64_t {
  isa_sse3 = 1ULL << 0,
  isa_ssse3 = 1ULL << 1,
  isa_sse41 = 1ULL << 2,
  isa_sse42 = 1ULL << 3,
  isa_avx = 1ULL << 4,
  isa_f16c = 1ULL << 5,
  isa_fma = 1ULL << 6,
  isa_bmi = 1ULL << 7,
  isa_bmi2 = 1ULL << 8,
  isa_avx2 = 1ULL << 9,
  isa_avx512f = 1ULL << 10,
  isa_avx512bw = 1ULL << 11,
  isa_avx512dq = 1ULL << 12,
  isa_avx512vl = 1ULL << 13,
  isa_avx512_bf16 = 1ULL << 14,
  isa_avx512_fp16 = 1ULL << 15,
  isa_amx = 1ULL << 16,
  isa_popcnt = 1ULL << 17,
  isa_lzcnt = 1ULL << 18,
  isa_movbe = 1ULL << 19,
  isa_arm_sve = 1ULL << 32,
  isa_arm_bf16 = 1ULL << 33,
};

struct Stamp {
  std::uint64_t magic = stamp_magic;
  std::uint32_t size = 0; // of this struct
  std::uint32_t epoch = DLHOST_EPOCH;
  std::uint32_t flags = 0;
  std::uint32_t reserved = 0;
  std::uint64_t isa = 0;
  std::array<char, 16> arch{};
  std::array<char, 32> compiler{};   // "gcc 12.2.0"
  std::array<char, 32> version{};    // of the plugin
  std::array<char, 64> name{};       // of the plugin: its first product's name
  std::array<char, 1024> provides{}; // "layer:dense layer:relu"
};

// The bytes in the file: an ELF note with its header.
struct alignas(4) StampNote {
  std::uint32_t owner_size = sizeof stamp_owner;
  std::uint32_t body_size = sizeof(Stamp);
  std::uint32_t type = stamp_type;
  char owner[8] = {'d', 'l', 'h', 'o', 's', 't', 0, 0};
  std::array<std::byte, sizeof(Stamp)> body{};
};

namespace detail {

constexpr std::uint32_t stamp_flags() {
  std::uint32_t flags = 0;
#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
  flags |= stamp_cxx11_strings;
#endif
#ifdef _GLIBCXX_DEBUG
  flags |= stamp_glibcxx_debug;
#endif
#ifdef _LIBCPP_VERSION
  flags |= stamp_libcxx;
#endif
#if defined(__SANITIZE_ADDRESS__)
  flags |= stamp_address_sanitizer;
#endif
#if defined(__SANITIZE_THREAD__)
  flags |= stamp_thread_sanitizer;
#endif
#if defined(DLHOST_UNDEFINED_SANITIZER)
  flags |= stamp_undefined_sanitizer;
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  flags |= stamp_address_sanitizer;
#endif
#if __has_feature(thread_sanitizer)
  flags |= stamp_thread_sanitizer;
#endif
#endif
  return flags;
}

constexpr std::uint64_t stamp_isa() {
  std::uint64_t isa = 0;
#ifdef __SSE3__
  isa |= isa_sse3;
#endif
#ifdef __SSSE3__
  isa |= isa_ssse3;
#endif
#ifdef __SSE4_1__
  isa |= isa_sse41;
#endif
#ifdef __SSE4_2__
  isa |= isa_sse42;
#endif
#ifdef __AVX__
  isa |= isa_avx;
#endif
#ifdef __F16C__
  isa |= isa_f16c;
#endif
#ifdef __FMA__
  isa |= isa_fma;
#endif
#ifdef __BMI__
  isa |= isa_bmi;
#endif
#ifdef __BMI2__
  isa |= isa_bmi2;
#endif
#ifdef __AVX2__
  isa |= isa_avx2;
#endif
#ifdef __AVX512F__
  isa |= isa_avx512f;
#endif
#ifdef __AVX512BW__
  isa |= isa_avx512bw;
#endif
#ifdef __AVX512DQ__
  isa |= isa_avx512dq;
#endif
#ifdef __AVX512VL__
  isa |= isa_avx512vl;
#endif
#ifdef __AVX512BF16__
  isa |= isa_avx512_bf16;
#endif
#ifdef __AVX512FP16__
  isa |= isa_avx512_fp16;
#endif
#ifdef __AMX_TILE__
  isa |= isa_amx;
#endif
#ifdef __POPCNT__
  isa |= isa_popcnt;
#endif
#ifdef __LZCNT__
  isa |= isa_lzcnt;
#endif
#ifdef __MOVBE__
  isa |= isa_movbe;
#endif
#ifdef __ARM_FEATURE_SVE
  isa |= isa_arm_sve;
#endif
#ifdef __ARM_FEATURE_BF16
  isa |= isa_arm_bf16;
#endif
  return isa;
}

constexpr std::string_view stamp_arch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "other";
#endif
}

#define DLHOST_TEXT_(x) #x
#define DLHOST_TEXT(x) DLHOST_TEXT_(x)
constexpr std::string_view stamp_compiler() {
#if defined(__clang__)
  return "clang " DLHOST_TEXT(__clang_major__) "." DLHOST_TEXT(__clang_minor__) "." DLHOST_TEXT(__clang_patchlevel__);
#elif defined(__GNUC__)
  return "gcc " DLHOST_TEXT(__GNUC__) "." DLHOST_TEXT(__GNUC_MINOR__) "." DLHOST_TEXT(__GNUC_PATCHLEVEL__);
#else
  return "other";
#endif
}

// Appends; the last byte stays 0. A text that is too long does not compile.
template <std::size_t N> constexpr void stamp_append(std::array<char, N>& field, std::string_view text) {
  std::size_t length = 0;
  while (field[length] != 0) ++length;
  if (length + text.size() >= N) throw "this text is too long for the plugin stamp";
  for (char c : text) field[length++] = c;
}

} // namespace detail

} // namespace dlhost
