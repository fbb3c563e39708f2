#include <dlhost/expression.h>

#include <algorithm>
#include <cassert>

namespace dlhost {

namespace {

std::size_t operand_count(Fn fn) {
  switch (fn) {
  case Fn::input:
  case Fn::scalar:
  case Fn::constant:
  case Fn::uniform: return 0;
  case Fn::select: return 3;
  case Fn::add:
  case Fn::subtract:
  case Fn::multiply:
  case Fn::divide:
  case Fn::minimum:
  case Fn::maximum:
  case Fn::greater: return 2;
  default: return 1;
  }
}

} // namespace

Term Expression::push(Step step) {
  auto same = std::ranges::find(steps_, step);
  if (same == steps_.end()) same = steps_.insert(steps_.end(), step);
  return {this, static_cast<std::uint16_t>(same - steps_.begin())};
}

Term Expression::input(std::uint16_t which) {
  inputs_ = std::max<std::size_t>(inputs_, which + std::size_t{1});
  return push({Fn::input, which});
}

Term Expression::scalar(std::uint16_t which) {
  scalars_ = std::max<std::size_t>(scalars_, which + std::size_t{1});
  return push({Fn::scalar, which});
}

Term Expression::constant(double value) { return push({.fn = Fn::constant, .value = value}); }

Term Expression::uniform() {
  const auto drawn = std::ranges::count(steps_, Fn::uniform, &Step::fn);
  return push({Fn::uniform, static_cast<std::uint16_t>(drawn)});
}

Term Expression::apply(Fn fn, Term a) {
  assert(a.owner() == this && operand_count(fn) == 1);
  return push({fn, a.step()});
}

Term Expression::apply(Fn fn, Term a, Term b) {
  assert(a.owner() == this && b.owner() == this && operand_count(fn) == 2);
  return push({fn, a.step(), b.step()});
}

Term Expression::apply(Fn fn, Term a, Term b, Term c) {
  assert(a.owner() == this && b.owner() == this && c.owner() == this && operand_count(fn) == 3);
  return push({fn, a.step(), b.step(), c.step()});
}

void Expression::result(Term term) {
  assert(term.owner() == this);
  results_.push_back(term.step());
}

bool Expression::draws() const { return std::ranges::find(steps_, Fn::uniform, &Step::fn) != steps_.end(); }

bool Expression::reads(std::uint16_t input) const {
  return std::ranges::any_of(steps_, [&](const Step& step) { return step.fn == Fn::input && step.a == input; });
}

std::vector<Term> Expression::inlined(Expression& into, const std::vector<Term>& inputs) const {
  assert(inputs.size() >= inputs_);
  const auto drawn = static_cast<std::uint16_t>(std::ranges::count(into.steps_, Fn::uniform, &Step::fn));
  std::vector<Term> placed;
  for (Step step : steps_) {
    const std::size_t operands = operand_count(step.fn);
    if (step.fn == Fn::input) {
      placed.push_back(inputs[step.a]);
      continue;
    }
    if (step.fn == Fn::scalar) into.scalars_ = std::max<std::size_t>(into.scalars_, step.a + std::size_t{1});
    if (step.fn == Fn::uniform) step.a = static_cast<std::uint16_t>(step.a + drawn);
    if (operands > 0) step.a = placed[step.a].step();
    if (operands > 1) step.b = placed[step.b].step();
    if (operands > 2) step.c = placed[step.c].step();
    placed.push_back(into.push(step));
  }
  std::vector<Term> results;
  for (auto step : results_) results.push_back(placed[step]);
  return results;
}

Term operator+(Term a, Term b) { return a.owner()->apply(Fn::add, a, b); }
Term operator-(Term a, Term b) { return a.owner()->apply(Fn::subtract, a, b); }
Term operator*(Term a, Term b) { return a.owner()->apply(Fn::multiply, a, b); }
Term operator/(Term a, Term b) { return a.owner()->apply(Fn::divide, a, b); }
Term operator-(Term a) { return a.owner()->apply(Fn::negate, a); }

} // namespace dlhost
