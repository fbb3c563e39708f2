// Gradients that a layer declares as products or as sums of rows.
#include <cmath>

#include <gtest/gtest.h>

#include "device/tests.h"
#include "layer/bench.h"
#include "layer/tests.h"

namespace dlhost::conform {
namespace {

// dw[u, ...], the sum over rows n of dy[n, u] x[n, ...].
Values product(const Values& x, const Values& dy, std::size_t rows) {
  const std::size_t terms = x.size() / rows, units = dy.size() / rows;
  Values dw(units * terms, 0.0);
  for (std::size_t n = 0; n < rows; ++n)
    for (std::size_t u = 0; u < units; ++u)
      for (std::size_t k = 0; k < terms; ++k) dw[u * terms + k] += dy[n * units + u] * x[n * terms + k];
  return dw;
}

// dw[x[n]], the sum over all n of dy[n].
Values added_rows(const Values& x, const Values& dy, std::size_t elements) {
  const std::size_t length = dy.size() / x.size();
  Values dw(elements, 0.0);
  for (std::size_t n = 0; n < x.size(); ++n)
    for (std::size_t i = 0; i < length; ++i) dw.at(static_cast<std::size_t>(x[n]) * length + i) += dy[n * length + i];
  return dw;
}

} // namespace

void factors_make_the_gradient(const Context& context, const LayerCase& of) {
  const auto oracle = context.oracle();
  LayerBench bench(context, *oracle, of, {.compute = DType::f64, .device_type = "ref"});
  if (bench.setup().factors.empty()) GTEST_SKIP() << "declares none";
  const Tensors given = filled(of, bench, context.seed);
  LayerRun run(bench, given, {});
  run.feature();
  run.gradient(Wanted::both);
  const Tensors gradients = run.gradients();
  for (const auto& factors : bench.setup().factors) {
    ASSERT_LT(factors.param, bench.setup().params.size());
    ASSERT_LT(factors.output, bench.setup().outputs.size());
    ASSERT_LT(factors.input, of.inputs.size());
    const std::string name = "d" + bench.setup().params[factors.param].name;
    const Values &x = given.at(concat("in", factors.input)), &dy = given.at(concat("dout", factors.output));
    const Values made = factors.of_rows ? added_rows(x, dy, gradients.at(name).size())
                                        : product(x, dy, static_cast<std::size_t>(of.batch()));
    expect_near(made, gradients.at(name), 1e-5 * largest(made), "what is made of the factors for " + name);
  }
}

} // namespace dlhost::conform
