// Symbolic differentiation, forward through the steps: each step's derivative comes from those of its operands.
#include <dlhost/expression.h>

#include <algorithm>
#include <numbers>
#include <optional>

namespace dlhost {

class Differentiation {
 public:
  Differentiation(const Expression& of, std::uint16_t which) : whole_(of), which_(which) {
    inputs_ = of.inputs_;
    scalars_ = of.scalars_;
    whole_.results_.clear();
  }

  Expression of(std::uint16_t result) {
    // whole_ grows while its first steps are differentiated.
    for (std::uint16_t step = 0; step <= result; ++step) slopes_.push_back(slope(whole_.steps_[step], step));
    whole_.result(slopes_[result]);
    return pruned();
  }

 private:
  Term at(std::uint16_t step) { return {&whole_, step}; }
  Term number(double value) { return whole_.constant(value); }
  std::optional<double> value(Term term) const {
    const auto& step = whole_.steps_[term.step()];
    return step.fn == Fn::constant ? std::optional(step.value) : std::nullopt;
  }
  bool is(Term term, double wanted) const { return value(term) == wanted; }

  Term plus(Term a, Term b) {
    if (value(a) && value(b)) return number(*value(a) + *value(b));
    if (is(a, 0)) return b;
    return is(b, 0) ? a : a + b;
  }
  Term minus(Term a, Term b) {
    if (value(a) && value(b)) return number(*value(a) - *value(b));
    if (is(b, 0)) return a;
    return is(a, 0) ? negative(b) : a - b;
  }
  Term negative(Term a) { return value(a) ? number(-*value(a)) : -a; }
  Term times(Term a, Term b) {
    if (value(a) && value(b)) return number(*value(a) * *value(b));
    if (is(a, 0) || is(b, 0)) return number(0);
    if (is(a, 1)) return b;
    if (is(b, 1)) return a;
    if (is(a, -1)) return negative(b);
    return is(b, -1) ? negative(a) : a * b;
  }
  Term over(Term a, Term b) {
    if (value(a) && value(b)) return number(*value(a) / *value(b));
    return is(a, 0) || is(b, 1) ? a : a / b;
  }
  Term choose(Term condition, Term yes, Term no) {
    if (yes.step() == no.step()) return yes;
    const bool compared = whole_.steps_[condition.step()].fn == Fn::greater; // its value is 1 or 0
    return compared && is(yes, 1) && is(no, 0) ? condition : select(condition, yes, no);
  }

  // `here`: the step's own value; the derivatives of exp, tanh and others use it.
  Term slope(Expression::Step step, std::uint16_t self) {
    const Term here = at(self);
    switch (step.fn) {
    case Fn::input: return number(step.a == which_ ? 1 : 0);
    case Fn::scalar:
    case Fn::constant:
    case Fn::uniform:
    case Fn::greater: return number(0);
    default: break;
    }
    const Term a = at(step.a);
    const Term da = slopes_[step.a];
    if (step.fn > Fn::select) return is(da, 0) ? da : times(inner(step.fn, a, here), da);
    const Term b = at(step.b);
    const Term db = slopes_[step.b];
    switch (step.fn) {
    case Fn::add: return plus(da, db);
    case Fn::subtract: return minus(da, db);
    case Fn::multiply: return plus(times(da, b), times(a, db));
    case Fn::divide: return over(minus(da, times(here, db)), b);
    case Fn::minimum: return da.step() == db.step() ? da : choose(greater(b, a), da, db);
    case Fn::maximum: return da.step() == db.step() ? da : choose(greater(a, b), da, db);
    default: return choose(a, db, slopes_[step.c]);
    }
  }

  // The derivative of a function of one operand.
  Term inner(Fn fn, Term a, Term here) {
    switch (fn) {
    case Fn::negate: return number(-1);
    case Fn::absolute: return select(greater(a, 0.0), number(1), choose(greater(number(0), a), number(-1), number(0)));
    case Fn::square_root: return 0.5 / here;
    case Fn::exponential: return here;
    case Fn::logarithm: return 1.0 / a;
    case Fn::logarithm1p: return 1.0 / (a + 1.0);
    case Fn::tanh: return 1.0 - here * here;
    case Fn::logistic: return here * (1.0 - here);
    default: return 2 * std::numbers::inv_sqrtpi * exp(-(a * a)); // error_function
    }
  }

  // Keeps only the steps that the result needs, in their order.
  Expression pruned() {
    const auto& steps = whole_.steps_;
    std::vector<bool> needed(steps.size());
    needed[whole_.results_[0]] = true;
    for (std::size_t i = steps.size(); i-- > 0;) {
      const Fn fn = steps[i].fn;
      if (!needed[i] || fn <= Fn::uniform) continue;
      needed[steps[i].a] = true;
      if (fn <= Fn::select) needed[steps[i].b] = true;
      if (fn == Fn::select) needed[steps[i].c] = true;
    }
    Expression lean;
    lean.inputs_ = inputs_;
    lean.scalars_ = scalars_;
    std::vector<std::uint16_t> place(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!needed[i]) continue;
      auto step = steps[i];
      if (step.fn > Fn::uniform) {
        step.a = place[step.a];
        if (step.fn <= Fn::select) step.b = place[step.b];
        if (step.fn == Fn::select) step.c = place[step.c];
      }
      place[i] = lean.push(step).step();
    }
    lean.results_ = {place[whole_.results_[0]]};
    return lean;
  }

  Expression whole_;
  std::uint16_t which_;
  std::size_t inputs_ = 0, scalars_ = 0;
  std::vector<Term> slopes_;
};

Expression derivative(const Expression& of, std::uint16_t which) {
  return Differentiation(of, which).of(of.results().at(0));
}

} // namespace dlhost
