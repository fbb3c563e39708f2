// Expressions, interpreted element by element.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/expression.h>
#include <dlhost/ops.h>

namespace dlhost::plugins::ref {

// The identity of an element, for its random draws.
struct Element {
  std::uint32_t sample = 0;
  std::uint64_t place = 0; // in its row
};

template <class T> class Evaluation {
 public:
  explicit Evaluation(const Expression& expression)
      : expression_(expression), values_(expression.steps().size()), inputs_(expression.input_count()) {}

  T& input(std::size_t i) { return inputs_[i]; }

  void run(const Dynamic& dynamic, Element element) {
    const auto& steps = expression_.steps();
    for (std::size_t i = 0; i < steps.size(); ++i) values_[i] = step(steps[i], dynamic, element);
  }
  T result(std::size_t i) const { return values_[expression_.results()[i]]; }

  // For expressions with one input, one result, no draws and no scalars.
  T of(T x) {
    if (!inputs_.empty()) inputs_[0] = x;
    run({}, {});
    return result(0);
  }

 private:
  T step(const Expression::Step& step, const Dynamic& dynamic, Element element) const {
    const T a = step.fn > Fn::uniform ? values_[step.a] : T{};
    const T b = step.fn > Fn::uniform && step.fn <= Fn::select ? values_[step.b] : T{};
    switch (step.fn) {
    case Fn::input: return inputs_[step.a];
    case Fn::scalar: return static_cast<T>(dynamic.scalars[step.a]);
    case Fn::constant: return static_cast<T>(step.value);
    case Fn::uniform:
      return draw(dynamic.key, dynamic.epoch, element.sample, (std::uint64_t{step.a} << 40) + element.place);
    case Fn::add: return a + b;
    case Fn::subtract: return a - b;
    case Fn::multiply: return a * b;
    case Fn::divide: return a / b;
    case Fn::minimum: return a < b || a != a ? a : b;
    case Fn::maximum: return a > b || a != a ? a : b;
    case Fn::greater: return a > b ? T{1} : T{0};
    case Fn::select: return a > 0 ? b : values_[step.c];
    case Fn::negate: return -a;
    case Fn::absolute: return std::abs(a);
    case Fn::square_root: return std::sqrt(a);
    case Fn::exponential: return std::exp(a);
    case Fn::logarithm: return std::log(a);
    case Fn::logarithm1p: return std::log1p(a);
    case Fn::tanh: return std::tanh(a);
    case Fn::logistic: return a < 0 ? std::exp(a) / (1 + std::exp(a)) : 1 / (1 + std::exp(-a));
    case Fn::error_function: return std::erf(a);
    }
    return {};
  }

  Expression expression_;
  std::vector<T> values_;
  std::vector<T> inputs_;
};

} // namespace dlhost::plugins::ref
