// Expressions as kernels interpret them: the list of steps, one after the other. Every thread of a GPU takes the same
// step at the same time, from constant memory. Slower than generated code for each expression (docs/decisions/cuda.md),
// but available everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include <dlhost/expression.h>
#include <dlhost/ops.h>
#include <dlhost/random.h>

#include "body.h"

namespace dlhost::plugins::cuda {

inline constexpr std::size_t most_scalars = 16;

// The random draws of an op's run.
struct Drawing {
  DrawKey key;
  std::uint32_t epoch = 0;
  const std::uint32_t* samples = nullptr; // of the first rows; later rows use their own index
  std::int64_t sample_count = 0;

  DLHOST_BODY float draw_of(std::uint32_t which, std::int64_t row, std::int64_t place) const {
    const std::uint32_t sample = row < sample_count ? samples[row] : static_cast<std::uint32_t>(row);
    return draw(key, epoch, sample, (static_cast<std::uint64_t>(which) << 40) + static_cast<std::uint64_t>(place));
  }
};

struct Scalars {
  float value[most_scalars] = {};
};

template <int most> struct Steps {
  static constexpr int capacity = most;
  struct Step {
    Fn fn;
    std::uint16_t a, b, c;
    float value;
  };
  Step step[most];
  std::int32_t count = 0;

  // False: too many steps.
  static bool fits(const Expression& expression) { return expression.steps().size() <= most; }
  static Steps of(const Expression& expression) {
    Steps made{};
    for (const auto& one : expression.steps())
      made.step[made.count++] = {one.fn, one.a, one.b, one.c, static_cast<float>(one.value)};
    return made;
  }

  // values[s] becomes step s. input(which) and uniform(which) return the element's values.
  template <class Input, class Uniform>
  DLHOST_BODY void run(float* values, const Scalars& scalars, const Input& input, const Uniform& uniform) const {
    for (std::int32_t s = 0; s < count; ++s) {
      const Step& one = step[s];
      if (one.fn <= Fn::uniform) {
        values[s] = one.fn == Fn::input      ? input(one.a)
                    : one.fn == Fn::scalar   ? scalars.value[one.a]
                    : one.fn == Fn::constant ? one.value
                                             : uniform(one.a);
        continue;
      }
      const float a = values[one.a];
      const float b = one.fn <= Fn::select ? values[one.b] : 0.0F;
      const float c = one.fn == Fn::select ? values[one.c] : 0.0F;
      values[s] = apply(one.fn, a, b, c);
    }
  }

  static DLHOST_BODY float apply(Fn fn, float a, float b, float c) {
    switch (fn) {
    case Fn::add: return a + b;
    case Fn::subtract: return a - b;
    case Fn::multiply: return a * b;
    case Fn::divide: return a / b;
    case Fn::minimum: return a < b || a != a ? a : b;
    case Fn::maximum: return a > b || a != a ? a : b;
    case Fn::greater: return a > b ? 1.0F : 0.0F;
    case Fn::select: return a > 0 ? b : c;
    case Fn::negate: return -a;
    case Fn::absolute: return std::fabs(a);
    case Fn::square_root: return std::sqrt(a);
    case Fn::exponential: return std::exp(a);
    case Fn::logarithm: return std::log(a);
    case Fn::logarithm1p: return std::log1p(a);
    case Fn::tanh: return std::tanh(a);
    case Fn::logistic: return a < 0 ? std::exp(a) / (1 + std::exp(a)) : 1 / (1 + std::exp(-a));
    case Fn::error_function: return std::erf(a);
    case Fn::input:
    case Fn::scalar:
    case Fn::constant:
    case Fn::uniform: break;
    }
    return 0;
  }
};

// A pointwise function of one element: of an epilogue, or of its gradient. Default: the identity.
struct Function {
  static constexpr int most = 32;
  Steps<most> steps{};
  std::int32_t result = -1;
  Known known = Known::none; // functions with a faster form of their own

  // None: too complex for an epilogue, with more than one input, scalars, draws or too many steps.
  static std::optional<Function> of(const Expression& expression) {
    if (expression.input_count() > 1 || expression.results().size() != 1 || expression.scalar_count() > 0 ||
        expression.draws() || !Steps<most>::fits(expression))
      return std::nullopt;
    Function made;
    made.steps = Steps<most>::of(expression);
    made.result = expression.results()[0];
    return made;
  }

  struct Same {
    float x;
    DLHOST_BODY float operator()(std::uint32_t) const { return x; }
  };
  DLHOST_BODY float operator()(float x) const {
    if (result < 0) return x;
    switch (known) {
    case Known::relu: return x > 0 || x != x ? x : 0.0F;
    case Known::logistic: return Steps<most>::apply(Fn::logistic, x, 0, 0);
    case Known::tanh: return Steps<most>::apply(Fn::tanh, x, 0, 0);
    default: break;
    }
    float values[most];
    steps.run(values, Scalars{}, Same{x}, Same{0});
    return values[result];
  }
};

} // namespace dlhost::plugins::cuda
