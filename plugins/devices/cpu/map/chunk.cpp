#include "chunk.h"

#include <algorithm>

namespace dlhost::plugins::cpu {

ChunkRunner::ChunkRunner(const Expression& expression, const MapKernels& kernels)
    : program_(compile(expression)), kernels_(&kernels), fused_(Fused::make(program_, kernels.lanes)),
      room_(static_cast<std::int64_t>(program_.reads.size() + program_.draws.size() + program_.slots) * chunk),
      same_(program_.same() * widest) {
  for (std::size_t i = 0; i < program_.constants.size(); ++i)
    std::fill_n(same_.begin() + static_cast<std::ptrdiff_t>(i) * widest, widest, program_.constants[i]);
}

void ChunkRunner::set_scalars(std::span<const float> scalars) {
  auto* place = same_.data() + static_cast<std::ptrdiff_t>(program_.constants.size()) * widest;
  for (std::size_t i = 0; i < program_.scalars; ++i, place += widest) std::fill_n(place, widest, scalars[i]);
  for (const auto& step : program_.settled)
    kernels_->step(step.code, same(step.a), same(step.b), same(step.c),
                   same_.data() + (same({Operand::From::settled, step.slot}).data - same_.data()), widest);
}

Walk ChunkRunner::same(Operand operand) const { return {same_.data() + program_.same(operand) * widest, 0}; }

Walk ChunkRunner::Room::walk(Operand operand, const float* const* inputs) const {
  switch (operand.from) {
  case Operand::From::slot: return {slot(operand.index), 1};
  case Operand::From::input: return {inputs[operand.index], 1};
  case Operand::From::draw: return {draw(operand.index), 1};
  default: return runner_.same(operand);
  }
}

void ChunkRunner::Room::run(const float* const* inputs, std::int64_t count, std::span<float*> results) const {
  if (!runner_.fused_) return step_by_step(inputs, count, results);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i]) results[i] = slot(runner_.program_.results[i]);
  const std::int64_t lanes = runner_.kernels_->lanes, vectors = (count + lanes - 1) / lanes;
  runner_.fused_->run({.inputs = inputs,
                       .draws = draw(0),
                       .same = runner_.same_.data(),
                       .results = results.data(),
                       .bytes = vectors * lanes * static_cast<std::int64_t>(sizeof(float))});
}

// The last instruction may write its result directly to memory: all inputs have been read by then.
void ChunkRunner::Room::step_by_step(const float* const* inputs, std::int64_t count, std::span<float*> results) const {
  const auto& instructions = runner_.program_.instructions;
  const auto* end = instructions.data() + instructions.size();
  float* last = nullptr;
  for (std::size_t i = 0; i < results.size() && !last; ++i)
    if (runner_.program_.results[i] == instructions.back().slot) last = results[i];
  for (const auto* step = instructions.data(); step != end; ++step) {
    float* out = last && step + 1 == end ? last : slot(step->slot);
    runner_.kernels_->step(step->code, walk(step->a, inputs), walk(step->b, inputs), walk(step->c, inputs), out, count);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto number = runner_.program_.results[i];
    results[i] = last && number == instructions.back().slot ? last : slot(number);
  }
}

} // namespace dlhost::plugins::cpu
