// Params and running state into a net from elsewhere, and out of it, under other names.
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
  std::vector<std::string> kept;      // ours, as they were
  std::vector<std::string> ignored;   // the file's
  std::vector<std::string> converted; // ours, from another float type
};

// Fills the store's params and running state from the file. Everything is checked before anything is changed; a failure
// tells every mismatch, with what was probably meant.
Result<Taken> take(const TensorFile&, const config::Names&, Store&);

// "model.npz: 12 tensors; read into f32: fc1.weight; ...", for people.
std::string to_string(const Taken&);

// The tensors as the other side calls and lays them. `values` keeps what had to be laid otherwise.
Result<std::vector<NamedTensor>> give(const TensorFile&, const config::Names&, std::vector<std::vector<float>>& values);

} // namespace dlhost::param
