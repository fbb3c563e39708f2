// A case of the device suite: a spec, which of its roles to run, and what its operands are filled with. Operands have
// names, those of the spec's comment in ops.h: so the outputs of a feature find their way into its gradient.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/ops.h>

namespace dlhost::conform {

inline TensorDesc f32(Shape shape) { return {DType::f32, shape, {}}; }

// Of an element's number and a uniform draw in [0, 1).
using Fill = std::function<double(std::int64_t index, double draw)>;

struct Case {
  std::string name;
  OpSpec spec; // plain, f32; of a feature op where the spec has roles
  std::vector<Role> roles{Role::feature};
  std::map<std::string, Fill> fills; // by operand; else uniform in [-1, 1)
  std::vector<float> scalars;
  std::int64_t valid = -1;
  double terms = 1;        // that are summed for one element of the result
  bool chooses = true;     // formats may be `any`
  bool narrow = true;      // may run in bf16 and f16
  bool smooth = true;      // numeric differences are its gradient
  bool in_formats = false; // x and y may be asked for in formats of images
  bool in_blocks = false;  // may be asked for blocks of samples
  bool adds = false;       // the input gradient is added to something
};

// Names in the order of run(). With `taken` false, as if the spec had no epilogue.
std::vector<std::string> input_names(const OpSpec&, const Op&); // of those that the op takes
std::vector<std::string> output_names(const OpSpec&, bool taken);

void set_role(OpSpec&, Role);
// change(name, description) for each tensor of the spec that has elements.
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
