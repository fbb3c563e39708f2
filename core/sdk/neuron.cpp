#include <dlhost/neuron.h>
#include <dlhost/partition.h>

namespace dlhost {

Status Neuron::setup(Setup& setup) {
  DLHOST_TRY(expect_inputs(setup, 1, 1));
  function_ = pointwise();
  if (function_.gradient.results().empty()) {
    function_.gradient = derivative(function_.feature, 0);
    function_.from_output = false;
  }
  setup.output("y", setup.input(0));
  setup.reads = {.inputs = !function_.from_output, .outputs = function_.from_output};
  setup.in_place = function_.from_output;
  setup.pointwise = function_;
  for (std::size_t axis = 1; axis < setup.input(0).rank(); ++axis) setup.splits.push_back(split_along(setup, axis));
  return {};
}

Status Neuron::prepare(Prepare& p) {
  const TensorDesc x = p.input(0).as(p.compute());
  p.reads(0, x);
  p.gives(0, x);
  DLHOST_ASSIGN(feature_, p.op(MapSpec{.expression = function_.feature, .in = {x}, .out = {x}}));
  if (!p.training() || !p.wants_input_gradient(0)) return {};
  DLHOST_ASSIGN(gradient_, p.op(gradient_of(function_, x), Role::input_gradient));
  return {};
}

void Neuron::compute_feature(const Pass& pass, Frame& f) const {
  feature_->run(*f.stream, {f.input(0)}, {f.output(0)}, f.scratch, f.dynamic(pass));
}

void Neuron::compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const {
  if (!gradient_ || !wants_inputs(wanted)) return;
  const void* known = function_.from_output ? f.output(0) : f.input(0);
  gradient_->run(*f.stream, {known, f.output_gradient(0)}, {f.input_gradient(0)}, f.scratch, f.dynamic(pass));
}

MapSpec gradient_of(const Pointwise& function, const TensorDesc& desc) {
  MapSpec spec{.in = {desc, desc}, .out = {desc}};
  Expression& product = spec.expression;
  const Term known = product.input(0);
  const Term dy = product.input(1);
  product.result(function.gradient.inlined(product, {known})[0] * dy);
  return spec;
}

} // namespace dlhost
