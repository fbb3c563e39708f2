#include "layer/bench.h"

#include <algorithm>

namespace dlhost::conform {

LayerBench::LayerBench(const Context& context, Device& device, const LayerCase& of, const Ask& ask)
    : case_(of), ask_(ask), device_(device) {
  layer_ = of.kind == Kind::connector ? std::unique_ptr<Layer>(context.make<Connector>(of.layer, of.options))
                                      : context.make<Layer>(of.layer, of.options);
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

// The forms as they are before the layer says otherwise.
void LayerBench::declare() {
  const Split* split = ask_.split;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    TensorDesc desc = ports_[i].desc;
    if (split) desc = piece(desc, split->inputs.at(i));
    if (!setup_.host && desc.shape == ports_[0].desc.shape && is_float(desc.dtype)) desc.format = ask_.input_format;
    inputs_.push_back(desc);
  }
  for (std::size_t i = 0; i < setup_.outputs.size(); ++i) {
    TensorDesc desc = setup_.outputs[i].desc;
    if (split && !split->sums_outputs && i == split->output) desc.shape[split->axis] = ask_.last - ask_.first;
    outputs_.push_back(desc);
  }
  for (std::size_t i = 0; i < setup_.params.size(); ++i) {
    TensorDesc desc{DType::f32, setup_.params[i].shape, {}};
    if (split) desc = piece(desc, split->params.at(i));
    params_.push_back(desc.shape);
    param_gradients_.push_back(desc);
  }
  for (const auto& spec : setup_.buffers)
    buffers_.push_back(
        {lab_->device().bytes(spec.desc), spec.initial, spec.life == Life::running || spec.life == Life::carried});
  reads_ = inputs_;
  gives_ = outputs_;
  target_ = outputs_.empty() ? TensorDesc{} : outputs_[0].as(ask_.input_format);
}

TensorDesc LayerBench::piece(TensorDesc desc, const Split::Operand& operand) const {
  if (operand.need == Split::Need::same) desc.shape[operand.axis] = ask_.last - ask_.first;
  return desc;
}

Result<std::unique_ptr<Op>> LayerBench::op(const OpSpec& spec, Role) {
  auto made = device_.prepare(spec);
  if (made.ok()) scratch_ = std::max(scratch_, (*made)->scratch_bytes);
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
