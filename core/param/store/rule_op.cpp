#include "param/store/rule_op.h"

namespace dlhost::param {
namespace {

// The sum of the next inputs, pairwise, in a tree that depends only on their number. Devices sum blocks of samples in
// the same tree, so the result does not depend on how blocks are spread over workers.
Term sum_of(Expression& expression, std::uint16_t& next, std::size_t count) {
  std::vector<Term> gradients;
  for (std::size_t g = 0; g < count; ++g) gradients.push_back(expression.input(next++));
  for (std::size_t step = 1; step < gradients.size(); step *= 2)
    for (std::size_t g = 0; g + step < gradients.size(); g += 2 * step)
      gradients[g] = gradients[g] + gradients[g + step];
  return gradients.front();
}

// The rule's expression over the sum of the gradients.
Expression with_gradients(const Expression& expression, const Updater::Rule& rule, const RuleForm& form) {
  Expression composed;
  std::uint16_t next = 0;
  std::vector<Term> terms{composed.input(next++)};
  Term gradient = sum_of(composed, next, form.gradients);
  if (form.clip_value > 0) gradient = min(max(gradient, -form.clip_value), form.clip_value);
  terms.push_back(gradient);
  for (std::size_t h = 0; h < rule.history.size(); ++h) terms.push_back(composed.input(next++));
  for (const auto& result : expression.inlined(composed, terms)) composed.result(result);
  return composed;
}

std::vector<TensorDesc> inputs(const Updater::Rule& rule, const RuleForm& form, const TensorDesc& tensor) {
  return std::vector<TensorDesc>(1 + form.gradients + rule.history.size(), tensor);
}

constexpr TensorDesc one_sum() { return {DType::f32, {1}, Format::plain()}; }

} // namespace

MapSpec apply_spec(const Updater::Rule& rule, const RuleForm& form, const TensorDesc& tensor) {
  MapSpec spec{.expression = with_gradients(rule.apply, rule, form),
               .in = inputs(rule, form, tensor),
               .out = std::vector<TensorDesc>(1 + rule.history.size(), tensor),
               .keeps_zeros = true};
  const Term value(&spec.expression, spec.expression.results().front());
  for (const TensorDesc& copy : form.copies) {
    spec.expression.result(value);
    spec.out.push_back(copy);
  }
  return spec;
}

MapSpec partials_spec(const Updater::Rule& rule, const RuleForm& form, const TensorDesc& tensor) {
  return {.expression = with_gradients(rule.partials, rule, form),
          .in = inputs(rule, form, tensor),
          .out = std::vector<TensorDesc>(rule.partials.results().size(), one_sum())};
}

MapSpec squared_sum_spec(std::size_t gradients, const TensorDesc& tensor) {
  MapSpec spec{.in = std::vector<TensorDesc>(gradients, tensor), .out = {one_sum()}};
  std::uint16_t next = 0;
  const Term sum = sum_of(spec.expression, next, gradients);
  spec.expression.result(sum * sum);
  return spec;
}

Expression weighted_sum(std::size_t gradients) {
  Expression weighted;
  std::uint16_t next = 0;
  weighted.result(weighted.scalar(0) * sum_of(weighted, next, gradients));
  return weighted;
}

} // namespace dlhost::param
