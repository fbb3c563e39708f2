// An updater's rule as the expression that a device prepares.
#pragma once

#include <dlhost/expression.h>

namespace dlhost::param {

struct RuleForm {
  std::size_t history = 0;   // slots
  std::size_t gradients = 1; // contributions, which are added in their order
  double clip_value = 0;     // of the sum; 0: not
  std::size_t copies = 0;    // the new value so many times more
};

// Inputs: value, gradients, history; results: those of the rule, then the copies.
Expression with_gradients(const Expression& rule, const RuleForm&);
// Of so many gradients: the square of their sum; and their sum, times a scalar.
Expression squared_sum(std::size_t gradients);
Expression weighted_sum(std::size_t gradients);

} // namespace dlhost::param
