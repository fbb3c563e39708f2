// Programs as one piece of machine code, against the same programs step by step: bit for bit.
#include "map/fused.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "map/chunk.h"
#include "map/kernels.h"

namespace dlhost::plugins::cpu {
namespace {

constexpr std::int64_t count = 96; // a few vectors of any width

// A program's inputs, and its results in two ways.
class Both {
 public:
  Both(const Expression& expression, const MapKernels& kernels, std::mt19937& random)
      : program_(compile(expression)), kernels_(kernels) {
    for (std::size_t i = 0; i < program_.reads.size(); ++i) inputs_.push_back(numbers(random, count));
    draws_ = numbers(random, static_cast<std::int64_t>(program_.draws.size()) * chunk);
    for (const float constant : program_.constants) same_.insert(same_.end(), widest, constant);
    for (std::size_t i = 0; i < program_.scalars; ++i) same_.insert(same_.end(), widest, numbers(random, 1).front());
    same_.resize(program_.same() * widest);
    for (const Instruction& step : program_.settled)
      kernels_.step(step.code, walk(step.a), walk(step.b), walk(step.c),
                    same_.data() + program_.same({Operand::From::settled, step.slot}) * widest, widest);
  }
  const Program& program() const { return program_; }

  std::vector<std::vector<float>> step_by_step() {
    slots_.assign(program_.slots, std::vector<float>(count));
    for (const Instruction& step : program_.instructions)
      kernels_.step(step.code, walk(step.a), walk(step.b), walk(step.c), slots_[step.slot].data(), count);
    std::vector<std::vector<float>> results;
    for (const auto slot : program_.results) results.push_back(slots_[slot]);
    return results;
  }
  // The first results overwrite the first inputs.
  std::vector<std::vector<float>> at_once(const Fused& fused) {
    auto inputs = inputs_;
    std::vector<std::vector<float>> results(program_.results.size(), std::vector<float>(count));
    std::vector<const float*> from;
    std::vector<float*> to;
    for (const auto& input : inputs) from.push_back(input.data());
    for (std::size_t i = 0; i < results.size(); ++i) to.push_back((i < inputs.size() ? inputs : results)[i].data());
    fused.run({.inputs = from.data(),
               .draws = draws_.data(),
               .same = same_.data(),
               .results = to.data(),
               .bytes = count * static_cast<std::int64_t>(sizeof(float))});
    for (std::size_t i = 0; i < std::min(results.size(), inputs.size()); ++i) results[i] = inputs[i];
    return results;
  }

 private:
  static std::vector<float> numbers(std::mt19937& random, std::int64_t many) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float ends[] = {0.0F, -0.0F, 1.0F, infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 1e-40F};
    std::uniform_real_distribution<float> some(-3, 3);
    std::vector<float> list(static_cast<std::size_t>(many));
    for (float& number : list) number = random() % 8 == 0 ? ends[random() % std::size(ends)] : some(random);
    return list;
  }
  Walk walk(Operand operand) const {
    const std::size_t number = operand.index;
    switch (operand.from) {
    case Operand::From::slot: return {slots_[number].data(), 1};
    case Operand::From::input: return {inputs_[number].data(), 1};
    case Operand::From::draw: return {draws_.data() + number * chunk, 1};
    default: return {same_.data() + program_.same(operand) * widest, 0};
    }
  }

  const Program program_;
  const MapKernels& kernels_;
  std::vector<std::vector<float>> inputs_, slots_;
  std::vector<float> draws_, same_;
};

std::uint32_t bits(float number) { return std::isnan(number) ? 0x7fc00000 : std::bit_cast<std::uint32_t>(number); }

constexpr Fn binary[] = {Fn::add, Fn::subtract, Fn::multiply, Fn::divide, Fn::minimum, Fn::maximum, Fn::greater};

void make_up(Expression& expression, std::mt19937& random) {
  std::vector<Term> terms;
  const auto any = [&] { return terms[random() % terms.size()]; };
  const auto some = [&](unsigned least, unsigned most) { return least + random() % (most - least + 1); };
  for (std::uint16_t i = 0, inputs = static_cast<std::uint16_t>(some(1, 6)); i < inputs; ++i)
    terms.push_back(expression.input(i));
  for (std::uint16_t i = 0, scalars = static_cast<std::uint16_t>(some(0, 3)); i < scalars; ++i)
    terms.push_back(expression.scalar(i));
  for (unsigned i = some(0, 8); i > 0; --i) terms.push_back(expression.constant(0.25 * i));
  if (some(0, 3) == 0) terms.push_back(expression.uniform());
  for (unsigned i = some(3, 40); i > 0; --i) {
    const unsigned which = some(0, 9);
    if (which < std::size(binary))
      terms.push_back(expression.apply(binary[which], any(), any()));
    else if (which == 9)
      terms.push_back(select(any(), any(), any()));
    else
      terms.push_back(sqrt(any()));
  }
  expression.result(terms.back());
  for (unsigned i = some(0, 3); i > 0; --i) expression.result(any());
}

TEST(FusedTest, TheBitsAreThoseOfItsSteps) {
  std::size_t made = 0, tried = 0;
  for (const auto& [name, kernels] : all_map_kernels())
    for (std::uint32_t seed = 0; seed < 1000; ++seed) {
      std::mt19937 random(seed);
      Expression expression;
      make_up(expression, random);
      Both both(expression, kernels, random);
      const auto fused = Fused::make(both.program(), kernels.lanes);
      if (kernels.lanes == 16) ++tried;
      if (!fused) continue;
      ++made;
      const auto right = both.step_by_step(), found = both.at_once(*fused);
      for (std::size_t r = 0; r < right.size(); ++r)
        for (std::size_t i = 0; i < right[r].size(); ++i)
          ASSERT_EQ(bits(found[r][i]), bits(right[r][i]))
              << name << ", seed " << seed << ", result " << r << ", element " << i << ": " << found[r][i] << ", not "
              << right[r][i] << " of " << to_string(expression);
    }
#ifdef DLHOST_XBYAK
  EXPECT_GE(2 * made, tried) << "so few have room in registers?";
#endif
}

TEST(FusedTest, WhatIsNoSingleInstructionIsLeftToSteps) {
  Expression expression;
  expression.result(exp(expression.input(0)) + 1.0);
  EXPECT_EQ(Fused::make(compile(expression), map_kernels().lanes), nullptr);
}

// More inputs than pointers, or more values than registers.
TEST(FusedTest, WhatHasNoRoomIsLeftToSteps) {
  Expression wide;
  Term sum = wide.input(0);
  for (std::uint16_t i = 1; i < 20; ++i) sum = sum + wide.input(i);
  wide.result(sum);
  EXPECT_EQ(Fused::make(compile(wide), map_kernels().lanes), nullptr);
  Expression deep;
  std::vector<Term> values;
  for (int i = 0; i < 40; ++i) values.push_back(sqrt(deep.input(0) + 0.5 * i));
  Term product = values.back();
  for (const Term value : values) product = product * value;
  deep.result(product);
  EXPECT_EQ(Fused::make(compile(deep), map_kernels().lanes), nullptr);
}

} // namespace
} // namespace dlhost::plugins::cpu
