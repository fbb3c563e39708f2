// Runs a program over chunks of elements. Belongs to one op; several threads may run chunks at the same time, each with
// a room of its own in the op's scratch.
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
  // The floats that one thread needs.
  std::int64_t room() const { return room_; }
  // Before a run, by one thread.
  void set_scalars(std::span<const float>);

  // One thread's work on chunks.
  class Room {
   public:
    Room(const ChunkRunner& runner, float* memory) : runner_(runner), memory_(memory) {}
    // Where input i or draw i may be loaded to: `chunk` floats.
    float* input(std::size_t i) const { return memory_ + static_cast<std::int64_t>(i) * chunk; }
    float* draw(std::size_t i) const { return input(runner_.program_.reads.size() + i); }
    float* slot(std::size_t i) const { return draw(runner_.program_.draws.size() + i); }
    // Computes `count` elements; inputs[i] is read in whole vectors. `results`: where each may be written at once, in
    // whole vectors, or null; afterwards where each is.
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
  std::unique_ptr<Fused> fused_; // null: step by step
  std::int64_t room_;
  Walk same(Operand) const;
  std::vector<float> same_; // constants, scalars, then what is made of them, each `widest` times
};

} // namespace dlhost::plugins::cpu
