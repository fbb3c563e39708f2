// Import of params and running state into a net, and export, under other names.
#pragma once

#include <string>
#include <vector>

#include "param/file/naming.h"
#include "param/file/tensor_file.h"
#include "param/store/store.h"

namespace dlhost::param {

struct Taken {
  std::string what; // the file
  std::size_t tensors = 0;
  std::vector<std::string> kept;      // our params that were not replaced
  std::vector<std::string> ignored;   // tensors of the file
  std::vector<std::string> converted; // our params that were read from another float type
};

// Fills the store's params and running state from the file. Everything is checked before anything is changed. Errors:
// all mismatches, with suggestions for misspelt names.
Result<Taken> take(const TensorFile&, const config::Names&, Store&);

// Example: "model.npz: 12 tensors; read into f32: fc1.weight; ...".
std::string to_string(const Taken&);

// The tensors under the other side's names and axis orders. `values` owns the reordered tensors.
Result<std::vector<NamedTensor>> give(const TensorFile&, const config::Names&, std::vector<std::vector<float>>& values);

} // namespace dlhost::param
