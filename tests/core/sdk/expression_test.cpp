#include <dlhost/expression.h>

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

namespace dlhost {
namespace {

double evaluate(const Expression& expression, const std::vector<double>& inputs) {
  std::vector<double> value;
  for (const auto& step : expression.steps()) {
    const auto a = [&] { return value[step.a]; };
    const auto b = [&] { return value[step.b]; };
    switch (step.fn) {
    case Fn::input: value.push_back(inputs[step.a]); break;
    case Fn::constant: value.push_back(step.value); break;
    case Fn::scalar: value.push_back(0.25 + step.a); break;
    case Fn::uniform: value.push_back(0.125 * (1 + step.a)); break;
    case Fn::add: value.push_back(a() + b()); break;
    case Fn::subtract: value.push_back(a() - b()); break;
    case Fn::multiply: value.push_back(a() * b()); break;
    case Fn::divide: value.push_back(a() / b()); break;
    case Fn::minimum: value.push_back(std::min(a(), b())); break;
    case Fn::maximum: value.push_back(std::max(a(), b())); break;
    case Fn::greater: value.push_back(a() > b() ? 1 : 0); break;
    case Fn::select: value.push_back(a() > 0 ? b() : value[step.c]); break;
    case Fn::negate: value.push_back(-a()); break;
    case Fn::absolute: value.push_back(std::abs(a())); break;
    case Fn::square_root: value.push_back(std::sqrt(a())); break;
    case Fn::exponential: value.push_back(std::exp(a())); break;
    case Fn::logarithm: value.push_back(std::log(a())); break;
    case Fn::logarithm1p: value.push_back(std::log1p(a())); break;
    case Fn::tanh: value.push_back(std::tanh(a())); break;
    case Fn::logistic: value.push_back(1 / (1 + std::exp(-a()))); break;
    case Fn::error_function: value.push_back(std::erf(a())); break;
    }
  }
  return value[expression.results().at(0)];
}

Expression of_one(const std::function<Term(Term)>& formula) {
  Expression made;
  made.result(formula(made.input(0)));
  return made;
}

TEST(ExpressionTest, DerivativesAgreeWithDifferences) {
  const std::pair<const char*, Expression> cases[] = {
      {"square", of_one([](Term x) { return x * x; })},
      {"quotient", of_one([](Term x) { return (x + 1.0) / (x * x + 2.0); })},
      {"exp", of_one([](Term x) { return exp(-x * 0.5); })},
      {"log", of_one([](Term x) { return log(x * x + 0.5); })},
      {"log1p", of_one([](Term x) { return log1p(exp(x)); })},
      {"sqrt", of_one([](Term x) { return sqrt(x * x + 1.0); })},
      {"tanh", of_one([](Term x) { return 1.7 * tanh(x * 0.6); })},
      {"logistic", of_one([](Term x) { return x * logistic(x); })},
      {"erf", of_one([](Term x) { return x * (1.0 + erf(x / 1.4142135623730951)); })},
      {"abs", of_one([](Term x) { return abs(x - 0.1); })},
      {"max", of_one([](Term x) { return max(x, x * 0.2); })},
      {"min", of_one([](Term x) { return min(x, 1.0) - 3.0; })},
      {"select", of_one([](Term x) { return select(x, x * x, exp(x) - 1.0); })},
      {"scalar", of_one([](Term x) { return x.owner()->scalar(1) * x * x; })},
      {"draw", of_one([](Term x) { return select(greater(x.owner()->uniform(), 0.5), x, x * 3.0); })},
  };
  for (const auto& [name, expression] : cases) {
    const Expression slope = derivative(expression, 0);
    for (double x : {-2.3, -0.7, 0.4, 1.9}) {
      const double step = 1e-6;
      const double difference = (evaluate(expression, {x + step}) - evaluate(expression, {x - step})) / (2 * step);
      EXPECT_NEAR(evaluate(slope, {x}), difference, 1e-7 * (1 + std::abs(difference))) << name << " at " << x;
    }
  }
}

TEST(ExpressionTest, TheDerivativeOfReluIsAComparison) {
  const auto slope = derivative(of_one([](Term x) { return max(x, 0.0); }), 0);
  EXPECT_EQ(to_string(slope), "greater(x0, 0)");
  EXPECT_EQ(evaluate(slope, {0}), 0);
}

TEST(ExpressionTest, DerivativesAreSimplified) {
  EXPECT_EQ(to_string(derivative(of_one([](Term x) { return tanh(x); }), 0)), "t1 = tanh(x0); 1 - t1 * t1");
  EXPECT_EQ(to_string(derivative(of_one([](Term x) { return 3.0 * x + 2.0; }), 0)), "3");
  EXPECT_EQ(to_string(derivative(of_one([](Term x) { return exp(x); }), 0)), "exp(x0)");
  EXPECT_EQ(to_string(derivative(of_one([](Term x) { return max(x, 0.1 * x); }), 0)),
            "select(greater(x0, 0.1 * x0), 1, 0.1)");
}

TEST(ExpressionTest, DerivesByTheInputThatIsAskedFor) {
  Expression product;
  product.result(product.input(0) * product.input(1));
  EXPECT_EQ(to_string(derivative(product, 0)), "x1");
  EXPECT_EQ(to_string(derivative(product, 1)), "x0");
  EXPECT_EQ(derivative(product, 1).input_count(), 2U);
}

TEST(ExpressionTest, TextKeepsTheOrderOfOperations) {
  Expression expression;
  auto a = expression.input(0);
  auto b = expression.input(1);
  expression.result((a - (b - a)) / (a * b));
  EXPECT_EQ(to_string(expression), "(x0 - (x1 - x0)) / (x0 * x1)");
}

TEST(ExpressionTest, EqualStepsAreOneAndDrawsStayApart) {
  Expression expression;
  auto x = expression.input(0);
  EXPECT_EQ((x + 1.0).step(), (x + 1.0).step());
  EXPECT_NE(expression.uniform().step(), expression.uniform().step());
  EXPECT_TRUE(expression.draws());
  EXPECT_TRUE(expression.reads(0));
  EXPECT_FALSE(expression.reads(1));
}

TEST(ExpressionTest, InlinesWithInputsReplaced) {
  const Expression square = of_one([](Term x) { return x * x + x.owner()->uniform(); });
  Expression outer;
  auto drawn = outer.uniform();
  auto results = square.inlined(outer, {exp(outer.input(2))});
  outer.result(results.at(0) + drawn);
  EXPECT_EQ(outer.input_count(), 3U);
  const double e = std::exp(0.3);
  // The outer draw is 0.125, the inlined one a second draw: 0.25.
  EXPECT_NEAR(evaluate(outer, {0, 0, 0.3}), e * e + 0.25 + 0.125, 1e-12);
}

} // namespace
} // namespace dlhost
