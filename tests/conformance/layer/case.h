// A test case of a layer: the data that a program cannot derive. Read from TOML:
//
//   [[case]]
//   layer = "dense"
//   name = "odd"                      # when there are several
//   options = { units = 5 }
//   inputs = [{ shape = [6, 7] }]     # the batch is axis 0; values are uniform in [-1, 1); none for a source
//
// Keys of an input: `below = 10` (i32, integers in [0, 10)), `low` and `high`, `distinct = true` (no two elements near
// each other are equal), and `given = true` (its producer does not learn).
#pragma once

#include <string>
#include <vector>

#include <dlhost/layer.h>

#include "context.h"
#include "values.h"

namespace dlhost::conform {

struct InputCase {
  Shape shape;
  std::int64_t below = 0;
  double low = -1, high = 1;
  bool distinct = false, given = false;

  TensorDesc desc() const { return {below > 0 ? DType::i32 : DType::f32, shape, {}}; }
  bool learns() const { return below == 0 && !given; }
};

struct LayerCase {
  std::string layer, name;
  Table options;
  std::vector<InputCase> inputs;
  bool smooth = true; // the gradient equals numeric differences
  bool rows = true;   // each row of the outputs depends on its row of the inputs alone
  double factor = 1;  // of a loss: its sum's factor, besides 1 / global batch
  double terms = 64;  // summands of an element: widens the tolerance
  bool infers = true; // usable in evaluation
  // The start of relative paths in its options: the folder of the case file. Never empty, as for a job.
  std::string folder = ".";

  std::string title() const { return name.empty() ? layer : layer + "_" + name; }
  std::int64_t batch() const { return inputs.at(0).shape[0]; }
};

// All cases of a file. Errors: throws.
std::vector<LayerCase> read_cases(Host&, const std::string& path);

// Default cases of a layer without restrictions: one for each shape that its setup accepts. None if a required option
// has no value.
std::vector<LayerCase> guessed_cases(const Context&, const std::string& layer);

Values values_of(const InputCase&, std::uint64_t seed, const std::string& name);

} // namespace dlhost::conform
