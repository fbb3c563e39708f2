#include "device/neurons.h"

#include <functional>

namespace dlhost::conform {

namespace {

Pointwise pointwise(Known known, double alpha, const std::function<Term(Term)>& formula) {
  Pointwise made{.known = known, .alpha = alpha};
  made.feature.result(formula(made.feature.input(0)));
  made.gradient = derivative(made.feature, 0);
  return made;
}

// The same, with its gradient from the output.
Pointwise from_output(Pointwise made, const std::function<Term(Term)>& slope) {
  made.gradient = {};
  made.gradient.result(slope(made.gradient.input(0)));
  made.from_output = true;
  return made;
}

Term select_positive(Term x, Term yes, Term no) { return select(greater(x, 0.0), yes, no); }

} // namespace

std::vector<std::pair<std::string, Pointwise>> neurons() {
  const auto relu = pointwise(Known::relu, 0, [](Term x) { return max(x, 0.0); });
  const auto leaky = pointwise(Known::leaky_relu, 0.1, [](Term x) { return select(x, x, 0.1 * x); });
  const auto elu = pointwise(Known::elu, 1.5, [](Term x) { return select_positive(x, x, 1.5 * (exp(x) - 1.0)); });
  const auto logistic_of = pointwise(Known::logistic, 0, [](Term x) { return logistic(x); });
  const auto tanh_of = pointwise(Known::tanh, 0, [](Term x) { return tanh(x); });
  const auto softplus = pointwise(Known::softplus, 0, [](Term x) { return max(x, 0.0) + log1p(exp(-abs(x))); });
  const auto gelu = pointwise(Known::gelu, 0, [](Term x) { return 0.5 * x * (1.0 + erf(x * 0.70710678118654752)); });
  const auto silu = pointwise(Known::silu, 0, [](Term x) { return x * logistic(x); });
  const auto unknown = pointwise(Known::none, 0, [](Term x) { return 1.7159 * tanh(x * 0.6667) + 0.01 * x; });
  return {{"relu", from_output(relu, [](Term y) { return greater(y, 0.0); })},
          {"leaky_relu", leaky},
          {"elu", elu},
          {"logistic", from_output(logistic_of, [](Term y) { return y * (1.0 - y); })},
          {"tanh", from_output(tanh_of, [](Term y) { return 1.0 - y * y; })},
          {"softplus", softplus},
          {"gelu", gelu},
          {"silu", silu},
          {"unknown", unknown}};
}

} // namespace dlhost::conform
