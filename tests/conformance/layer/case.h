// How a layer is to be tried: what no program can know of it. Read from TOML:
//
//   [[case]]
//   layer = "dense"
//   name = "odd"                      # when there are several
//   options = { units = 5 }
//   inputs = [{ shape = [6, 7] }]     # the batch is axis 0; values are uniform in [-1, 1); none for a source
//
// An input may say `below = 10` (i32, integers in [0, 10)), `low` and `high`, `distinct = true` (no two elements near
// each other are equal), and `given = true` (nothing that could learn stands behind it).
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
  bool smooth = true; // numeric differences are its gradient
  bool rows = true;   // each row of the outputs depends on its row of the inputs alone
  double factor = 1;  // of a loss: on its sum, besides 1 / global batch
  double terms = 64;  // that are summed for one element: widens what counts as equal
  bool infers = true; // can be had for evaluation
  // Where the relative paths of its options start: the folder of the file that says the case. Never empty, as a job's.
  std::string folder = ".";

  std::string title() const { return name.empty() ? layer : layer + "_" + name; }
  std::int64_t batch() const { return inputs.at(0).shape[0]; }
};

// All cases of a file; throws what is wrong with it.
std::vector<LayerCase> read_cases(Host&, const std::string& path);

// What a file of cases need not say of a layer that takes anything: one case for each shape that its setup accepts.
// None where an option is required that nobody gave.
std::vector<LayerCase> guessed_cases(const Context&, const std::string& layer);

Values values_of(const InputCase&, std::uint64_t seed, const std::string& name);

} // namespace dlhost::conform
