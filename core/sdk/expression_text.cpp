// Prints expressions for people: infix; steps that are used several times are named first.
#include <dlhost/expression.h>

#include <string_view>

#include <dlhost/status.h>

namespace dlhost {

namespace {

std::string_view word(Fn fn) {
  switch (fn) {
  case Fn::minimum: return "min";
  case Fn::maximum: return "max";
  case Fn::greater: return "greater";
  case Fn::select: return "select";
  case Fn::absolute: return "abs";
  case Fn::square_root: return "sqrt";
  case Fn::exponential: return "exp";
  case Fn::logarithm: return "log";
  case Fn::logarithm1p: return "log1p";
  case Fn::tanh: return "tanh";
  case Fn::logistic: return "logistic";
  case Fn::error_function: return "erf";
  default: return "";
  }
}

// The precedence of a step's text: 1 sums, 2 products, 3 signs, 4 all else.
int tightness(Fn fn) {
  switch (fn) {
  case Fn::add:
  case Fn::subtract: return 1;
  case Fn::multiply:
  case Fn::divide: return 2;
  case Fn::negate: return 3;
  default: return 4;
  }
}

class Writer {
 public:
  explicit Writer(const Expression& expression) : steps_(expression.steps()), uses_(steps_.size()) {
    for (const auto& step : steps_) {
      if (step.fn <= Fn::uniform) continue;
      ++uses_[step.a];
      if (step.fn <= Fn::select) ++uses_[step.b];
      if (step.fn == Fn::select) ++uses_[step.c];
    }
    for (auto result : expression.results()) ++uses_[result];
  }

  std::string all(const std::vector<std::uint16_t>& results) const {
    std::string text;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (named(i)) text += concat("t", i, " = ", formula(i), "; ");
    for (std::size_t i = 0; i < results.size(); ++i) text += concat(i ? ", " : "", shown(results[i], 0));
    return text;
  }

 private:
  bool named(std::size_t i) const { return uses_[i] > 1 && steps_[i].fn > Fn::uniform; }

  std::string shown(std::size_t i, int least) const {
    if (named(i)) return concat("t", i);
    return tightness(steps_[i].fn) < least ? concat("(", formula(i), ")") : formula(i);
  }

  std::string formula(std::size_t i) const {
    const auto& step = steps_[i];
    switch (step.fn) {
    case Fn::input: return concat("x", step.a);
    case Fn::scalar: return concat("s", step.a);
    case Fn::constant: return concat(step.value);
    case Fn::uniform: return concat("uniform", step.a);
    case Fn::add: return concat(shown(step.a, 1), " + ", shown(step.b, 1));
    case Fn::subtract: return concat(shown(step.a, 1), " - ", shown(step.b, 2));
    case Fn::multiply: return concat(shown(step.a, 2), " * ", shown(step.b, 2));
    case Fn::divide: return concat(shown(step.a, 2), " / ", shown(step.b, 3));
    case Fn::negate: return concat("-", shown(step.a, 4));
    default: break;
    }
    std::string text = concat(word(step.fn), "(", shown(step.a, 0));
    if (step.fn <= Fn::select) text += concat(", ", shown(step.b, 0));
    if (step.fn == Fn::select) text += concat(", ", shown(step.c, 0));
    return text + ")";
  }

  const std::vector<Expression::Step>& steps_;
  std::vector<int> uses_;
};

} // namespace

std::string to_string(const Expression& expression) { return Writer(expression).all(expression.results()); }

} // namespace dlhost
