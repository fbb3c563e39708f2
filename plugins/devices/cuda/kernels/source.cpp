#include "source.h"

#include <algorithm>
#include <bit>

namespace dlhost::plugins::cuda {

namespace {

constexpr std::string_view words = R"(
template <class Bits> struct alignas(sizeof(Bits) * together < 16 ? sizeof(Bits) * together : 16) Together {
  Bits at[together];
};

#if defined(__CUDACC_RTC__)
inline __device__ float float_of_f16(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
inline __device__ unsigned short f16_of_float(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#endif
inline __device__ float float_of_bf16(unsigned short bits) { return __uint_as_float((unsigned int)bits << 16); }
inline __device__ unsigned short bf16_of_float(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  unsigned short made;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(made) : "f"(value));
  return made;
#else
  const unsigned int bits = __float_as_uint(value);
  if (value != value) return (unsigned short)(bits >> 16 | 0x40u);
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}
// To nearest, ties to even; what is too large is the largest.
template <class Whole> inline __device__ Whole whole_of_float(float value, Whole least, Whole most) {
  if (value != value) return 0;
  const float whole = rintf(value);
  return whole <= (float)least ? least : whole >= (float)most ? most : (Whole)whole;
}
)";

// Elements are moved as bits.
struct Type {
  const char* bits;              // an unsigned type
  const char *load, *load_end;   // around bits, for a float
  const char *store, *store_end; // around a float, for bits
};

const Type& type_of(DType type) {
  static constexpr Type f32{"unsigned int", "__uint_as_float(", ")", "__float_as_uint(", ")"},
      f64{"unsigned long long",

          "(float)__longlong_as_double((long long)", ")", "(unsigned long long)__double_as_longlong((double)", ")"},
      bf16{"unsigned short", "float_of_bf16(", ")", "bf16_of_float(", ")"},
      f16{"unsigned short", "float_of_f16(", ")", "f16_of_float(", ")"},
      i64{"unsigned long long",

          "(float)(long long)", "", "(unsigned long long)whole_of_float<long long>(",
          ", -9223372036854775807ll - 1, 9223372036854775807ll)"},
      i32{"unsigned int",

          "(float)(int)", "", "(unsigned int)whole_of_float<int>(", ", -2147483647 - 1, 2147483647)"},
      i8{"unsigned char", "(float)(signed char)", "", "(unsigned char)whole_of_float<signed char>(", ", -128, 127)"},
      u8{"unsigned char", "(float)", "", "whole_of_float<unsigned char>(", ", 0, 255)"};
  switch (type) {
  case DType::f32: return f32;
  case DType::f64: return f64;
  case DType::bf16: return bf16;
  case DType::f16: return f16;
  case DType::i64: return i64;
  case DType::i32: return i32;
  case DType::i8: return i8;
  case DType::u8: return u8;
  }
  return f32;
}

std::string value_of(float value) { return concat("__uint_as_float(", std::bit_cast<std::uint32_t>(value), "u)"); }

// Same results as Steps::apply.
std::string step_text(const Expression::Step& step) {
  const std::string a = concat("v", step.a), b = concat("v", step.b), c = concat("v", step.c);
  switch (step.fn) {
  case Fn::input: return concat("x[", step.a, "]");
  case Fn::scalar: return concat("scalar[", step.a, "]");
  case Fn::constant: return value_of(static_cast<float>(step.value));
  case Fn::uniform: break;
  case Fn::add: return a + " + " + b;
  case Fn::subtract: return a + " - " + b;
  case Fn::multiply: return a + " * " + b;
  case Fn::divide: return a + " / " + b;
  case Fn::minimum: return concat(a, " < ", b, " || ", a, " != ", a, " ? ", a, " : ", b);
  case Fn::maximum: return concat(a, " > ", b, " || ", a, " != ", a, " ? ", a, " : ", b);
  case Fn::greater: return concat(a, " > ", b, " ? 1.0f : 0.0f");
  case Fn::select: return concat(a, " > 0 ? ", b, " : ", c);
  case Fn::negate: return "-" + a;
  case Fn::absolute: return concat("fabsf(", a, ")");
  case Fn::square_root: return concat("sqrtf(", a, ")");
  case Fn::exponential: return concat("expf(", a, ")");
  case Fn::logarithm: return concat("logf(", a, ")");
  case Fn::logarithm1p: return concat("log1pf(", a, ")");
  case Fn::tanh: return concat("tanhf(", a, ")");
  case Fn::logistic: return concat(a, " < 0 ? expf(", a, ") / (1 + expf(", a, ")) : 1 / (1 + expf(-", a, "))");
  case Fn::error_function: return concat("erff(", a, ")");
  }
  return "0.0f";
}

// The place in an operand of another shape than the space's for element i; its axes of size 1 have stride 0.
std::string place_text(const TensorDesc& desc, const Shape& space) {
  if (desc.count() == 1) return "0";
  std::string text;
  for (std::size_t axis = 0; axis < space.rank(); ++axis) {
    if (desc.shape[axis] == 1) continue;
    text += concat(text.empty() ? "" : " + ", "i / ", space.past(axis + 1), "u",
                   axis == 0 ? "" : concat(" % ", space[axis], "u"), " * ", desc.shape.past(axis + 1), "u");
  }
  return text;
}

// Loads operand `k` of `operands` into x.
std::string load_text(const TensorDesc& desc, const Shape& space, std::size_t k, std::size_t operands) {
  const Type& type = type_of(desc.dtype);
  const std::string from = concat("  {\n    const ", type.bits, "* from = (const ", type.bits, "*)a.from[piece * ",
                                  operands, " + ", k, "];\n");
  if (desc.shape == space)
    return concat(from, "    Together<", type.bits, "> read = {};\n    if (whole)\n      read = *(const Together<",
                  type.bits,
                  ">*)(from + first);\n    else\n      for (int e = 0; e < some; ++e) read.at[e] = from[first + e];\n"
                  "#pragma unroll\n    for (int e = 0; e < together; ++e) x[e][",
                  k, "] = ", type.load, "read.at[e]", type.load_end, ";\n  }\n");
  return concat(from,
                "#pragma unroll\n    for (int e = 0; e < together; ++e) {\n      if (e >= some) continue;\n"
                "      const unsigned int i = (unsigned int)(first + e);\n      (void)i;\n      x[e][",
                k, "] = ", type.load, "from[", place_text(desc, space), "]", type.load_end, ";\n    }\n  }\n");
}

// Stores result `o` of `results` from y.
std::string store_text(DType dtype, std::size_t o, std::size_t results) {
  const Type& type = type_of(dtype);
  return concat(
      "  {\n    ", type.bits, "* to = (", type.bits, "*)a.to[piece * ", results, " + ", o, "];\n    Together<",
      type.bits, "> made;\n#pragma unroll\n    for (int e = 0; e < together; ++e) made.at[e] = ", type.store, "y[e][",
      o, "]", type.store_end, ";\n    if (whole)\n      *(Together<", type.bits,
      ">*)(to + first) = made;\n    else\n      for (int e = 0; e < some; ++e) to[first + e] = made.at[e];\n  }\n");
}

} // namespace

Result<ElementSource> source_of(const MapSpec& spec, const Shape& space, std::span<const std::uint16_t> made,
                                std::size_t pieces) {
  const Expression& f = spec.expression;
  constexpr std::int64_t most = std::int64_t{1} << 32;
  if (f.draws()) return Status::unsupported("expressions that draw are interpreted");
  if (space.count() >= most) return Status::unsupported("spaces of 2^32 elements are interpreted");
  ElementSource source{
      .inputs = spec.in.size(), .outputs = spec.out.size(), .scalars = f.scalar_count(), .pieces = pieces};
  // 16 bytes of the narrowest type, as long as a thread's registers suffice.
  constexpr std::size_t together = 4, most_together = 8, most_kept = 6, moved_at_once = 16;
  std::size_t narrowest = moved_at_once / together, widest = 1;
  for (const auto* list : {&spec.in, &spec.out})
    for (const auto& desc : *list) {
      if (desc.shape != space) continue;
      narrowest = std::min(narrowest, size_of(desc.dtype));
      widest = std::max(widest, size_of(desc.dtype));
    }
  const bool more = narrowest * together < moved_at_once && source.inputs + source.outputs <= most_kept;
  source.together = static_cast<int>(more ? most_together : together);
  source.alignment = std::min(moved_at_once, widest * static_cast<std::size_t>(source.together));

  std::string& text = source.text;
  text =
      concat("\nconstexpr int together = ", source.together, ";\n", words, "\nstruct Arguments {\n  const void* from[",
             std::max<std::size_t>(1, pieces * source.inputs), "];\n  void* to[", pieces * source.outputs,
             "];\n  long long start[", pieces + 1, "];\n  int first_block[", pieces + 1,
             "];\n  int pieces, aligned;\n  float scalar[", std::max<std::size_t>(1, source.scalars),
             "];\n};\n\ninline __device__ void one_element(const float* x, const float* scalar, float* y) {\n");
  for (std::size_t s = 0; s < f.steps().size(); ++s)
    text += concat("  const float v", s, " = ", step_text(f.steps()[s]), ";\n");
  for (std::size_t o = 0; o < made.size(); ++o)
    if (made[o] != no_result) text += concat("  y[", o, "] = v", made[o], ";\n");
  // A function of its own for elements moved together: inlined into the other path, the compiler would split the moves.
  text += concat("}\n\ntemplate <bool whole>\ninline __device__ void elements(const Arguments& a, int piece, long long "
                 "first, int some) {\n  float x[together][",
                 std::max<std::size_t>(1, source.inputs), "] = {}, y[together][", source.outputs, "];\n");
  for (std::size_t k = 0; k < source.inputs; ++k)
    if (f.reads(static_cast<std::uint16_t>(k))) text += load_text(spec.in[k], space, k, source.inputs);
  text += "#pragma unroll\n  for (int e = 0; e < together; ++e) one_element(x[e], a.scalar, y[e]);\n";
  for (std::size_t o = 0; o < made.size(); ++o)
    if (made[o] != no_result) text += store_text(spec.out[o].dtype, o, source.outputs);
  text += concat("}\n\nextern \"C\" __global__ void __launch_bounds__(", ElementSource::threads, ") ",
                 ElementSource::kernel,
                 "(const __grid_constant__ Arguments a) {\n"
                 "  int piece = 0;\n"
                 "  while (piece + 1 < a.pieces && (int)blockIdx.x >= a.first_block[piece + 1]) ++piece;\n"
                 "  const long long count = a.start[piece + 1] - a.start[piece];\n"
                 "  const long long first = ((long long)((int)blockIdx.x - a.first_block[piece]) * ",
                 ElementSource::threads,
                 " + threadIdx.x) * together;\n"
                 "  if (first >= count) return;\n"
                 "  if (a.aligned && count - first >= together) {\n"
                 "    elements<true>(a, piece, first, together);\n"
                 "    return;\n"
                 "  }\n"
                 "  elements<false>(a, piece, first, count - first < together ? (int)(count - first) : together);\n"
                 "}\n");
  return source;
}

} // namespace dlhost::plugins::cuda
