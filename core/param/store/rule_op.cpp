#include "param/store/rule_op.h"

#include <vector>

namespace dlhost::param {
namespace {

// Of the next inputs, pairwise, in a tree that depends on their number alone: as devices sum blocks of samples, so that
// it is all one whether a block is a worker's or one of many of a worker.
Term sum_of(Expression& expression, std::uint16_t& next, std::size_t count) {
  std::vector<Term> gradients;
  for (std::size_t g = 0; g < count; ++g) gradients.push_back(expression.input(next++));
  for (std::size_t step = 1; step < gradients.size(); step *= 2)
    for (std::size_t g = 0; g + step < gradients.size(); g += 2 * step)
      gradients[g] = gradients[g] + gradients[g + step];
  return gradients.front();
}

} // namespace

Expression squared_sum(std::size_t gradients) {
  Expression squared;
  std::uint16_t next = 0;
  const Term sum = sum_of(squared, next, gradients);
  squared.result(sum * sum);
  return squared;
}

Expression weighted_sum(std::size_t gradients) {
  Expression weighted;
  std::uint16_t next = 0;
  weighted.result(weighted.scalar(0) * sum_of(weighted, next, gradients));
  return weighted;
}

Expression with_gradients(const Expression& rule, const RuleForm& form) {
  Expression composed;
  std::uint16_t next = 0;
  std::vector<Term> terms{composed.input(next++)};
  Term gradient = sum_of(composed, next, form.gradients);
  if (form.clip_value > 0) gradient = min(max(gradient, -form.clip_value), form.clip_value);
  terms.push_back(gradient);
  for (std::size_t h = 0; h < form.history; ++h) terms.push_back(composed.input(next++));
  const auto results = rule.inlined(composed, terms);
  for (const auto& result : results) composed.result(result);
  for (std::size_t i = 0; i < form.copies; ++i) composed.result(results[0]);
  return composed;
}

} // namespace dlhost::param
