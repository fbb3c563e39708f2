// An updater's rule as the ops that a device prepares, and sums of gradients. A rule's op has the inputs value,
// gradients, history, and the results of the rule (the new value, then the history), then the copies.
#pragma once

#include <vector>

#include <dlhost/ops.h>
#include <dlhost/updater.h>

namespace dlhost::param {

struct RuleForm {
  std::size_t gradients = 1;      // contributions, added in their order
  double clip_value = 0;          // limit for the sum; 0: none
  std::vector<TensorDesc> copies; // additional outputs of the new value
};

// `tensor`: the description of value, gradients and history.
MapSpec apply_spec(const Updater::Rule&, const RuleForm&, const TensorDesc& tensor);
// The same inputs; the results are the rule's sums. Requires: a plain tensor.
MapSpec partials_spec(const Updater::Rule&, const RuleForm&, const TensorDesc& tensor);
// The squared sum of the gradients, added over the elements. Requires: a plain tensor.
MapSpec squared_sum_spec(std::size_t gradients, const TensorDesc& tensor);
// The sum of the gradients times a scalar.
Expression weighted_sum(std::size_t gradients);

} // namespace dlhost::param
