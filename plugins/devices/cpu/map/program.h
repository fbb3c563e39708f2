// An expression compiled for vectors: without dead steps, with products and sums joined, and a slot for each value. A
// chunk of elements is computed while it stays in the first cache, or a vector of them in registers. Made once, when an
// op is prepared.
#pragma once

#include <cstdint>
#include <vector>

#include <dlhost/expression.h>
#include <dlhost/status.h>

namespace dlhost::plugins::cpu {

// The number of elements that each step processes before the next step.
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
  // x^(-3/4) for positive normal numbers, the power in local response normalisation; not from expressions.
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
  std::uint16_t slot = 0; // the destination
};

struct Program {
  std::vector<Instruction> instructions;
  // Values that are the same for all elements: computed once in a run; slots count these.
  std::vector<Instruction> settled;
  std::vector<std::uint16_t> results; // slots
  std::vector<float> constants;
  std::vector<std::uint16_t> draws; // the number of each draw
  std::vector<bool> reads;          // whether each input is read
  std::size_t scalars = 0;
  std::size_t slots = 0;

  // Index among the constants of a run: constants, then scalars, then settled values.
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
