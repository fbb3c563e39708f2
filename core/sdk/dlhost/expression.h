// Expressions: pointwise arithmetic as data. A layer or updater declares its function of one element once. Every device
// turns it into its own kernel and fuses it with its neighbours; core derives its gradient.
//
//   Expression relu;
//   auto x = relu.input(0);
//   relu.result(max(x, 0.0));
//
// An expression is a list of steps, operands first. Inputs are elements of tensors, scalars are numbers given at each
// run (a learning rate), `uniform` draws a counter-based random number in [0, 1).
// Comparisons give 1 and 0; select(c, a, b) is a if c > 0, else b. Minimum and maximum pass NaN on.
// Draw k of an expression for an element of the index space is draw(key, epoch, sample, (k << 40) + element) of
// random.h. `sample` is that of the element's row (its index on axis 0), `element` its index within the row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dlhost/visibility.h>

namespace dlhost {

enum class Fn : std::uint8_t {
  input,    // a: number of the input
  scalar,   // a: number of the scalar
  constant, // value
  uniform,  // a: number of the draw
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
  greater, // a > b
  select,  // a > 0 ? b : c
  negate,
  absolute,
  square_root,
  exponential,
  logarithm,
  logarithm1p, // log(1 + a), exact near 0
  tanh,
  logistic,
  error_function,
};

class Expression;

// A value in an expression under construction. Valid as long as the expression is not moved.
class Term {
 public:
  Term(Expression* owner, std::uint16_t step) : owner_(owner), step_(step) {}
  Expression* owner() const { return owner_; }
  std::uint16_t step() const { return step_; }

 private:
  Expression* owner_;
  std::uint16_t step_;
};

class DLHOST_API Expression {
 public:
  struct Step {
    Fn fn = Fn::constant;
    std::uint16_t a = 0, b = 0, c = 0;
    double value = 0;
    bool operator==(const Step&) const = default;
  };

  Term input(std::uint16_t which);
  Term scalar(std::uint16_t which);
  Term constant(double);
  Term uniform(); // a new draw
  Term apply(Fn, Term a);
  Term apply(Fn, Term a, Term b);
  Term apply(Fn, Term a, Term b, Term c);
  void result(Term);

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<std::uint16_t>& results() const { return results_; }
  std::size_t input_count() const { return inputs_; }
  std::size_t scalar_count() const { return scalars_; }
  bool draws() const;
  bool reads(std::uint16_t input) const;
  bool operator==(const Expression&) const = default;

  // Appends this expression's steps to `into`, with `inputs` in place of its inputs; returns the results. Scalars keep
  // their numbers; draws get new ones, so that they stay independent of the draws in `into`.
  std::vector<Term> inlined(Expression& into, const std::vector<Term>& inputs) const;

 private:
  friend class Differentiation;
  Term push(Step); // returns an equal existing step if there is one
  std::vector<Step> steps_;
  std::vector<std::uint16_t> results_;
  std::size_t inputs_ = 0;
  std::size_t scalars_ = 0;
};

DLHOST_API Term operator+(Term, Term);
DLHOST_API Term operator-(Term, Term);
DLHOST_API Term operator*(Term, Term);
DLHOST_API Term operator/(Term, Term);
DLHOST_API Term operator-(Term);
inline Term operator+(Term a, double b) { return a + a.owner()->constant(b); }
inline Term operator-(Term a, double b) { return a - a.owner()->constant(b); }
inline Term operator*(Term a, double b) { return a * a.owner()->constant(b); }
inline Term operator/(Term a, double b) { return a / a.owner()->constant(b); }
inline Term operator+(double a, Term b) { return b.owner()->constant(a) + b; }
inline Term operator-(double a, Term b) { return b.owner()->constant(a) - b; }
inline Term operator*(double a, Term b) { return b.owner()->constant(a) * b; }
inline Term operator/(double a, Term b) { return b.owner()->constant(a) / b; }
inline Term min(Term a, Term b) { return a.owner()->apply(Fn::minimum, a, b); }
inline Term max(Term a, Term b) { return a.owner()->apply(Fn::maximum, a, b); }
inline Term min(Term a, double b) { return min(a, a.owner()->constant(b)); }
inline Term max(Term a, double b) { return max(a, a.owner()->constant(b)); }
inline Term greater(Term a, Term b) { return a.owner()->apply(Fn::greater, a, b); }
inline Term greater(Term a, double b) { return greater(a, a.owner()->constant(b)); }
inline Term select(Term condition, Term yes, Term no) {
  return condition.owner()->apply(Fn::select, condition, yes, no);
}
inline Term abs(Term a) { return a.owner()->apply(Fn::absolute, a); }
inline Term sqrt(Term a) { return a.owner()->apply(Fn::square_root, a); }
inline Term exp(Term a) { return a.owner()->apply(Fn::exponential, a); }
inline Term log(Term a) { return a.owner()->apply(Fn::logarithm, a); }
inline Term log1p(Term a) { return a.owner()->apply(Fn::logarithm1p, a); }
inline Term tanh(Term a) { return a.owner()->apply(Fn::tanh, a); }
inline Term logistic(Term a) { return a.owner()->apply(Fn::logistic, a); }
inline Term erf(Term a) { return a.owner()->apply(Fn::error_function, a); }

// d result(0) / d input(which), as a simplified expression of the same inputs, scalars and draws. Where two branches
// meet (max, select), it is the derivative of the second.
DLHOST_API Expression derivative(const Expression&, std::uint16_t which);

// "max(x0, 0)", for people and kernel names.
DLHOST_API std::string to_string(const Expression&);

// A function of one element, with a name for devices that have their own fused kernel for it.
enum class Known : std::uint8_t { none, relu, leaky_relu, elu, logistic, tanh, softplus, gelu, silu };

struct Pointwise {
  Known known = Known::none;
  double alpha = 0;    // leaky_relu: slope below 0; elu: scale
  Expression feature;  // y of x (input 0)
  Expression gradient; // dy/dx as a function of input 0, which is y if `from_output`, else x
  bool from_output = false;
};

} // namespace dlhost
