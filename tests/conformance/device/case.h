// A case of the device suite: a spec, its tested roles, and the values of its operands. Operands have the names of the
// spec's comment in ops.h, by which a feature's outputs become its gradient's inputs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/ops.h>

namespace dlhost::conform {

inline TensorDesc f32(Shape shape) { return {DType::f32, shape, {}}; }

// A value from an element's number and a uniform draw in [0, 1).
using Fill = std::function<double(std::int64_t index, double draw)>;

struct Case {
  std::string name;
  OpSpec spec; // plain, f32; as a feature op if the spec has roles
  std::vector<Role> roles{Role::feature};
  std::map<std::string, Fill> fills; // by operand; else uniform in [-1, 1)
  std::vector<float> scalars;
  std::int64_t valid = -1;
  double terms = 1;        // summands of one element of the result
  bool chooses = true;     // formats may be `any`
  bool narrow = true;      // may run in bf16 and f16
  bool smooth = true;      // the gradient equals numeric differences
  bool in_formats = false; // x and y may have image formats
  bool in_blocks = false;  // may run with sums in blocks of samples
  bool adds = false;       // the input gradient is added to an addend
};

// Names in the order of run(). `taken` false: as if the spec had no epilogue.
std::vector<std::string> input_names(const OpSpec&, const Op&); // inputs of the op
std::vector<std::string> output_names(const OpSpec&, bool taken);

void set_role(OpSpec&, Role);
// Calls change(name, description) for each tensor of the spec that has elements.
void each_tensor(OpSpec&, const std::function<void(const std::string&, TensorDesc&)>& change);
const Epilogue* epilogue_of(const OpSpec&);
void drop_epilogue(OpSpec&);
void add_to_result(OpSpec&); // an epilogue with an addend

// Distinct values near each other, exact in bf16: for maxima.
Fill distinct();
Fill integers_below(std::int64_t count);
Fill between_numbers(double low, double high);

std::vector<Case> linear_cases(); // gemm, conv
std::vector<Case> window_cases(); // pool, lrn
std::vector<Case> norm_cases();   // norm, softmax, losses, gather
std::vector<Case> map_cases();    // map, box, transpose

} // namespace dlhost::conform
