// An updater's rule as the expression that a device prepares.
#pragma once

#include <dlhost/expression.h>

namespace dlhost::param {

struct RuleForm {
  std::size_t history = 0;   // slots
  std::size_t gradients = 1; // contributions, added in their order
  double clip_value = 0;     // limit for the sum; 0: none
  std::size_t copies = 0;    // additional outputs of the new value
};

// Inputs: value, gradients, history. Results: those of the rule, then the copies.
Expression with_gradients(const Expression& rule, const RuleForm&);
// The squared sum of the gradients, and their sum times a scalar.
Expression squared_sum(std::size_t gradients);
Expression weighted_sum(std::size_t gradients);

} // namespace dlhost::param
