// Runs a program over chunks of elements. Owned by one op. Thread: several at once, each with its own room in the op's
// scratch.
#pragma once

#include <span>
#include <vector>

#include <dlhost/ops.h>

#include "fused.h"
#include "kernels.h"
#include "program.h"

namespace dlhost::plugins::cpu {

class ChunkRunner {
 public:
  ChunkRunner(const Expression&, const MapKernels&);

  const Program& program() const { return program_; }
  const MapKernels& kernels() const { return *kernels_; }
  // The number of floats that one thread needs.
  std::int64_t room() const { return room_; }
  // Call before a run. Thread: one.
  void set_scalars(std::span<const float>);

  // One thread's memory for chunks.
  class Room {
   public:
    Room(const ChunkRunner& runner, float* memory) : runner_(runner), memory_(memory) {}
    // The memory for loading input i or draw i: `chunk` floats.
    float* input(std::size_t i) const { return memory_ + static_cast<std::int64_t>(i) * chunk; }
    float* draw(std::size_t i) const { return input(runner_.program_.reads.size() + i); }
    float* slot(std::size_t i) const { return draw(runner_.program_.draws.size() + i); }
    // Computes `count` elements. Reads inputs[i] in whole vectors. `results`: a destination for each result, for whole
    // vectors, or null; afterwards the place of each.
    void run(const float* const* inputs, std::int64_t count, std::span<float*> results) const;

   private:
    void step_by_step(const float* const* inputs, std::int64_t count, std::span<float*> results) const;
    Walk walk(Operand, const float* const* inputs) const;
    const ChunkRunner& runner_;
    float* memory_;
  };

 private:
  Program program_;
  const MapKernels* kernels_;
  std::unique_ptr<Fused> fused_; // null: runs step by step
  std::int64_t room_;
  Walk same(Operand) const;
  std::vector<float> same_; // constants, scalars, then values computed from them, each `widest` times
};

} // namespace dlhost::plugins::cpu
