#include "param/rule_op.h"

#include <vector>

namespace dlhost::param {

Expression with_gradients(const Expression& rule, const RuleForm& form) {
  Expression composed;
  std::uint16_t next = 0;
  std::vector<Term> terms{composed.input(next++)};
  // Pairwise, in a tree that depends on their number alone: as devices sum blocks of samples, so that it is all one
  // whether a block is a worker's or one of many of a worker.
  std::vector<Term> gradients;
  for (std::size_t g = 0; g < form.gradients; ++g) gradients.push_back(composed.input(next++));
  for (std::size_t step = 1; step < gradients.size(); step *= 2)
    for (std::size_t g = 0; g + step < gradients.size(); g += 2 * step)
      gradients[g] = gradients[g] + gradients[g + step];
  Term gradient = gradients.front();
  if (form.clip_value > 0) gradient = min(max(gradient, -form.clip_value), form.clip_value);
  terms.push_back(gradient);
  for (std::size_t h = 0; h < form.history; ++h) terms.push_back(composed.input(next++));
  const auto results = rule.inlined(composed, terms);
  for (const auto& result : results) composed.result(result);
  for (std::size_t i = 0; i < form.copies; ++i) composed.result(results[0]);
  return composed;
}

} // namespace dlhost::param
