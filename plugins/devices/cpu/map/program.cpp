#include "program.h"

#include <algorithm>

namespace dlhost::plugins::cpu {
namespace {

Code code_of(Fn fn) {
  switch (fn) {
  case Fn::add: return Code::add;
  case Fn::subtract: return Code::subtract;
  case Fn::multiply: return Code::multiply;
  case Fn::divide: return Code::divide;
  case Fn::minimum: return Code::minimum;
  case Fn::maximum: return Code::maximum;
  case Fn::greater: return Code::greater;
  case Fn::select: return Code::select;
  case Fn::negate: return Code::negate;
  case Fn::absolute: return Code::absolute;
  case Fn::square_root: return Code::square_root;
  case Fn::exponential: return Code::exponential;
  case Fn::logarithm: return Code::logarithm;
  case Fn::logarithm1p: return Code::logarithm1p;
  case Fn::tanh: return Code::tanh;
  case Fn::logistic: return Code::logistic;
  default: return Code::error_function;
  }
}

bool is_leaf(Fn fn) { return fn <= Fn::uniform; }

int arity(Fn fn) {
  if (is_leaf(fn)) return 0;
  if (fn == Fn::select) return 3;
  return fn <= Fn::greater ? 2 : 1;
}

class Compiler {
 public:
  explicit Compiler(const Expression& expression)
      : steps_(expression.steps()), results_(expression.results()), uses_(steps_.size()), joined_(steps_.size()),
        places_(steps_.size()) {
    program_.reads.resize(expression.input_count());
    program_.scalars = expression.scalar_count();
    for (auto result : results_) ++uses_[result];
    for (std::size_t i = steps_.size(); i-- > 0;)
      if (uses_[i] > 0)
        for (auto operand : operands(i)) ++uses_[operand];
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (uses_[i] > 0) join(i);
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (uses_[i] > 0 && !joined_[i]) emit(i);
    for (auto result : results_) program_.results.push_back(result_slot(places_[result]));
  }
  Program take() { return std::move(program_); }

 private:
  std::vector<std::uint16_t> operands(std::size_t i) const {
    const auto& step = steps_[i];
    std::vector<std::uint16_t> list{step.a, step.b, step.c};
    list.resize(static_cast<std::size_t>(arity(step.fn)));
    return list;
  }

  // A product with one sum as its only reader becomes part of that sum.
  bool can_join(std::uint16_t step) const {
    return steps_[step].fn == Fn::multiply && uses_[step] == 1 && !joined_[step];
  }
  void join(std::size_t i) {
    const auto& step = steps_[i];
    if (step.fn != Fn::add && step.fn != Fn::subtract) return;
    if (can_join(step.a))
      joined_[step.a] = true;
    else if (can_join(step.b))
      joined_[step.b] = true;
  }

  void emit(std::size_t i) {
    const auto& step = steps_[i];
    if (is_leaf(step.fn)) {
      places_[i] = leaf(step);
      return;
    }
    Instruction made;
    if (step.fn == Fn::add || step.fn == Fn::subtract) {
      made = sum(step);
    } else {
      const auto list = operands(i);
      made.code = code_of(step.fn);
      made.a = places_[list[0]];
      made.b = list.size() > 1 ? places_[list[1]] : made.a;
      made.c = list.size() > 2 ? places_[list[2]] : made.a;
    }
    if (is_same(made.a) && is_same(made.b) && is_same(made.c)) {
      made.slot = static_cast<std::uint16_t>(program_.settled.size());
      places_[i] = {Operand::From::settled, made.slot};
      program_.settled.push_back(made);
      return;
    }
    // Steps read and write element by element, so the result may take a slot that ends here.
    for (auto operand : operands(i)) release(operand);
    made.slot = new_slot();
    places_[i] = {Operand::From::slot, made.slot};
    program_.instructions.push_back(made);
  }

  static bool is_same(Operand operand) { return operand.from >= Operand::From::constant; }

  Instruction sum(const Expression::Step& step) const {
    const bool plus = step.fn == Fn::add;
    const bool first = joined_[step.a], second = !first && joined_[step.b];
    if (!first && !second)
      return {plus ? Code::add : Code::subtract, places_[step.a], places_[step.b], places_[step.a], 0};
    const auto& product = steps_[first ? step.a : step.b];
    const Code code = plus ? Code::multiply_add : first ? Code::multiply_subtract : Code::negated_multiply;
    return {code, places_[product.a], places_[product.b], places_[first ? step.b : step.a], 0};
  }

  Operand leaf(const Expression::Step& step) {
    switch (step.fn) {
    case Fn::input: program_.reads[step.a] = true; return {Operand::From::input, step.a};
    case Fn::scalar: return {Operand::From::scalar, step.a};
    case Fn::constant:
      program_.constants.push_back(static_cast<float>(step.value));
      return {Operand::From::constant, static_cast<std::uint16_t>(program_.constants.size() - 1)};
    default:
      program_.draws.push_back(step.a);
      return {Operand::From::draw, static_cast<std::uint16_t>(program_.draws.size() - 1)};
    }
  }

  // An input that is also a result gets a slot: its memory may be an output's, overwritten before.
  std::uint16_t result_slot(Operand place) {
    if (place.from == Operand::From::slot) return place.index;
    const auto slot = static_cast<std::uint16_t>(program_.slots++);
    program_.instructions.push_back({Code::copy, place, place, place, slot});
    return slot;
  }

  void release(std::uint16_t step) {
    if (joined_[step]) {
      for (auto operand : operands(step)) release(operand);
    } else if (--uses_[step] == 0 && places_[step].from == Operand::From::slot) {
      free_.push_back(places_[step].index);
    }
  }
  std::uint16_t new_slot() {
    if (free_.empty()) return static_cast<std::uint16_t>(program_.slots++);
    const auto slot = free_.back();
    free_.pop_back();
    return slot;
  }

  const std::vector<Expression::Step>& steps_;
  const std::vector<std::uint16_t>& results_;
  std::vector<int> uses_;
  std::vector<bool> joined_;
  std::vector<Operand> places_;
  std::vector<std::uint16_t> free_;
  Program program_;
};

} // namespace

Program compile(const Expression& expression) { return Compiler(expression).take(); }

} // namespace dlhost::plugins::cpu
