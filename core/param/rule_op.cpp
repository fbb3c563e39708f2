#include "param/rule_op.h"

#include <vector>

namespace dlhost::param {

Expression with_gradients(const Expression& rule, const RuleForm& form) {
  Expression composed;
  std::uint16_t next = 0;
  std::vector<Term> terms{composed.input(next++)};
  Term gradient = composed.input(next++);
  for (std::size_t g = 1; g < form.gradients; ++g) gradient = gradient + composed.input(next++);
  if (form.clip_value > 0) gradient = min(max(gradient, -form.clip_value), form.clip_value);
  terms.push_back(gradient);
  for (std::size_t h = 0; h < form.history; ++h) terms.push_back(composed.input(next++));
  const auto results = rule.inlined(composed, terms);
  for (const auto& result : results) composed.result(result);
  for (std::size_t i = 0; i < form.copies; ++i) composed.result(results[0]);
  return composed;
}

} // namespace dlhost::param
