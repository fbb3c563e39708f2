// The program's memory, known after layout.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dlhost::program {

// A layer's activations are its part of the arena at the fullest step. Its params include histories and copies, and
// count only in the first program that uses them.
struct Footprint {
  struct Part {
    std::string layer; // empty: core's steps between layers
    std::size_t activations = 0, params = 0;
  };
  std::vector<Part> parts;
  std::size_t arena = 0, scratch = 0, params = 0; // on the device
  std::size_t unshared = 0;                       // the arena's size if no tensors shared memory
  std::size_t param_gradients = 0; // the most bytes of param gradients in the arena; independent of the batch
  std::size_t host = 0;            // extra host memory, if the host cannot reach the device's
  std::size_t lent = 0;            // host memory for tensors that other workers read
};

} // namespace dlhost::program
