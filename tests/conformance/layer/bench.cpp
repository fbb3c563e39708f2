#include "layer/bench.h"

#include <algorithm>

namespace dlhost::conform {

LayerBench::LayerBench(const Context& context, Device& device, const LayerCase& of, const Ask& ask)
    : context_(context), case_(of), ask_(ask), device_(device) {
  layer_ = context.make<Layer>(of.layer, of.options);
  for (std::size_t i = 0; i < of.inputs.size(); ++i) {
    TensorDesc desc = of.inputs[i].desc();
    if (is_float(desc.dtype) && !of.inputs[i].given) desc.dtype = ask.compute;
    ports_.push_back({concat("in", i), desc});
  }
  setup_.inputs = ports_;
  setup_.phase = ask.phase;
  setup_.compute = ask.compute;
  setup_.batch = of.batch();
  setup_.layer = of.layer;
  need(layer_->setup(setup_));
  if (setup_.host) host_device_ = context.make<Device>("ref", {});
  lab_ = std::make_unique<Lab>(host_device_ ? *host_device_ : device);
  declare();
  need(layer_->prepare(*this));
}

bool LayerBench::learns(std::size_t i) const {
  if (i >= case_.inputs.size() || !case_.inputs[i].learns()) return false;
  return ask_.wants_inputs.empty() || ask_.wants_inputs.at(i);
}

// Sets the default forms, before the layer changes them.
void LayerBench::declare() {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    TensorDesc desc = part(ports_[i].desc, i, &Split::inputs);
    if (!setup_.host && desc.shape == ports_[0].desc.shape && is_float(desc.dtype)) desc.format = ask_.input_format;
    inputs_.push_back(desc);
  }
  for (std::size_t i = 0; i < setup_.outputs.size(); ++i)
    outputs_.push_back(part(setup_.outputs[i].desc, i, &Split::outputs));
  for (std::size_t i = 0; i < setup_.params.size(); ++i) {
    const TensorDesc desc = part({DType::f32, setup_.params[i].shape, {}}, i, &Split::params);
    params_.push_back(desc.shape);
    param_gradients_.push_back(desc);
  }
  for (const auto& spec : setup_.buffers)
    buffers_.push_back(
        {lab_->device().bytes(spec.desc), spec.initial, spec.life == Life::running || spec.life == Life::carried});
  reads_ = inputs_;
  gives_ = outputs_;
}

TensorDesc LayerBench::part(TensorDesc desc, std::size_t operand, std::vector<Split::Operand> Split::*operands) const {
  if (ask_.pieces) desc.shape = ask_.pieces->part(desc.shape, ask_.number, operand, operands).shape;
  return desc;
}

Result<std::unique_ptr<Op>> LayerBench::op(const OpSpec& spec, Role) {
  auto made = device_.prepare(spec);
  if (made.ok()) scratch_ = std::max(scratch_, (*made)->scratch_bytes);
  return made;
}

std::string LayerBench::companion() const {
  return concat(case_.layer, "@", ask_.device_type.empty() ? context_.device : ask_.device_type);
}

bool LayerBench::has_kernels() {
  return context_.registry.candidate(Kind::kernel, companion()).status().code() != Code::not_found;
}

Result<std::unique_ptr<Op>> LayerBench::kernel(const KernelSpec& spec, Role) {
  DLHOST_ASSIGN(const auto kernels, context_.registry.create<Kernels>(companion(), {}));
  DLHOST_ASSIGN(auto made, kernels->prepare(device_, spec, {}));
  scratch_ = std::max(scratch_, made->scratch_bytes);
  return made;
}

std::size_t LayerBench::uses(std::size_t param, const TensorDesc& desc) {
  uses_.push_back({param, desc});
  return uses_.size() - 1;
}

std::size_t LayerBench::buffer(std::string, std::size_t bytes, Life) {
  buffers_.push_back({bytes});
  return buffers_.size() - 1;
}

Tensors filled(const LayerCase& of, LayerBench& bench, std::uint64_t seed) {
  Tensors made;
  for (std::size_t i = 0; i < of.inputs.size(); ++i)
    made[concat("in", i)] = values_of(of.inputs[i], seed, concat(of.title(), "in", i));
  const auto fill = [&](const std::string& name, const Shape& shape, double scale) {
    Values values = uniform(seed, of.title() + name, shape.count());
    for (auto& value : values) value = (2 * value - 1) * scale;
    made[name] = rounded(values, DType::f32);
  };
  for (const auto& param : bench.setup().params) fill(param.name, param.shape, 0.5);
  const auto& outputs = bench.setup().outputs;
  for (std::size_t i = 0; i < outputs.size() && !bench.setup().is_loss; ++i)
    if (is_float(outputs[i].desc.dtype)) fill(concat("dout", i), outputs[i].desc.shape, 1);
  return made;
}

} // namespace dlhost::conform
