// An expression made ready for vectors: dead steps gone, products and sums joined, and each value given a slot, so that
// a chunk of elements is computed while it stays in the first cache, or a vector of them in registers. Made once, when
// an op is prepared.
#pragma once

#include <cstdint>
#include <vector>

#include <dlhost/expression.h>
#include <dlhost/status.h>

namespace dlhost::plugins::cpu {

// The elements that all steps of a program work on before the next ones.
inline constexpr std::int64_t chunk = 512;

enum class Code : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
  greater,
  select,
  copy,
  negate,
  absolute,
  square_root,
  exponential,
  logarithm,
  logarithm1p,
  tanh,
  logistic,
  error_function,
  multiply_add,      // a * b + c
  multiply_subtract, // a * b - c
  negated_multiply,  // c - a * b
  // x^(-3/4) of positive normal numbers, the power of local response normalisation; no expression is made of it.
  minus_three_quarters,
};

struct Operand {
  enum class From : std::uint8_t { slot, input, draw, constant, scalar, settled };
  From from = From::slot;
  std::uint16_t index = 0;
  bool operator==(const Operand&) const = default;
};

struct Instruction {
  Code code = Code::add;
  Operand a, b, c;
  std::uint16_t slot = 0; // where the value goes
};

struct Program {
  std::vector<Instruction> instructions;
  std::vector<Instruction> settled;   // what is the same for all elements: made once a run; slots count these
  std::vector<std::uint16_t> results; // slots
  std::vector<float> constants;
  std::vector<std::uint16_t> draws; // the number of each draw
  std::vector<bool> reads;          // of each input: whether it is looked at
  std::size_t scalars = 0;
  std::size_t slots = 0;

  // Among the values that are the same for all elements: constants, then scalars, then what was settled.
  std::size_t same() const { return constants.size() + scalars + settled.size(); }
  std::size_t same(const Operand& operand) const {
    std::size_t place = operand.index;
    if (operand.from != Operand::From::constant) place += constants.size();
    if (operand.from == Operand::From::settled) place += scalars;
    return place;
  }
};

Program compile(const Expression&);

} // namespace dlhost::plugins::cpu
