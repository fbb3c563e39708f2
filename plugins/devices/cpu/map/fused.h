// A program as machine code: all steps of a vector in registers, before the next vector. Intermediate values do not go
// through memory, and results may be written directly to their destination. Same instructions as the kernels', so the
// same bits.
#pragma once

#include <cstdint>
#include <memory>

#include "program.h"

namespace dlhost::plugins::cpu {

class Fused {
 public:
  // Null: the program has steps that are no single instructions, or more values than there are registers; or this
  // processor, with vectors of `lanes` floats, is not supported; or code cannot be made here.
  static std::unique_ptr<Fused> make(const Program&, std::int64_t lanes);
  virtual ~Fused() = default;

  struct Arguments {
    const float* const* inputs = nullptr; // those that are read
    const float* draws = nullptr;         // one after the other, `chunk` floats each
    const float* same = nullptr;          // constants, scalars, settled values, `widest` times each
    float* const* results = nullptr;
    std::int64_t bytes = 0; // of each; whole vectors, at least one
  };
  virtual void run(const Arguments&) const = 0;
};

} // namespace dlhost::plugins::cpu
