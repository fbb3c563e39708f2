#include "norm.h"

#include "epilogue.h"
#include "formats.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

using From = PrimitiveOp::From;
using dnnl::layer_normalization_backward;
using dnnl::layer_normalization_forward;
using memory = dnnl::memory;

} // namespace

// On oneDNN, which normalises the last axis: the axes before it and the normalised ones become one axis each.
Prepared prepare_layer_norm(const NormSpec& spec, const Request& request) {
  for (const auto* desc : {&spec.x, &spec.y}) {
    if (!desc->format.is_plain() && !desc->format.is_any()) return Status::unsupported("layer norm: plain only");
    if (!has_dtype(desc->dtype)) return Status::unsupported("layer norm: not in ", name_of(desc->dtype));
  }
  const auto x = spec.x.as(Format::plain()), y = spec.y.as(Format::plain());
  const auto size = x.shape.past(spec.axis), rows = x.count() / size;
  const TensorDesc param{DType::f32, spec.params(), {}}, statistic{DType::f32, spec.statistics(), {}};
  const memory::desc data({rows, size}, dtype_of(x.dtype), memory::format_tag::ab);
  const memory::desc result({rows, size}, dtype_of(y.dtype), memory::format_tag::ab);
  const memory::desc numbers({rows}, memory::data_type::f32, memory::format_tag::a);
  const memory::desc params({size}, memory::data_type::f32, memory::format_tag::a);
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const auto epsilon = static_cast<float>(spec.epsilon);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const layer_normalization_forward::primitive_desc forward(engine(), dnnl::prop_kind::forward_training, data, result,
                                                            numbers, epsilon, flags, attributes);
  std::unique_ptr<PrimitiveOp> op;
  const auto finish = [&](const auto& chosen) {
    op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
    op->scratch_bytes = chosen.scratchpad_desc().get_size();
    op->kernel = kernel_of(chosen);
    refuse_epilogue(spec.epilogue, *op);
  };
  if (spec.role == Role::feature) {
    op = std::make_unique<PrimitiveOp>(layer_normalization_forward(forward), request.threads);
    op->in = {x, param, param};
    op->out = {y, statistic, statistic};
    op->add(DNNL_ARG_SRC, data, From::input, 0);
    op->add(DNNL_ARG_SCALE, params, From::input, 1);
    op->add(DNNL_ARG_SHIFT, params, From::input, 2);
    op->add(DNNL_ARG_DST, result, From::output, 0);
    op->add(DNNL_ARG_MEAN, numbers, From::output, 1);
    op->add(DNNL_ARG_VARIANCE, numbers, From::output, 2);
    op->operations = 6.0 * static_cast<double>(x.count());
    finish(forward);
  } else {
    const layer_normalization_backward::primitive_desc backward(engine(), dnnl::prop_kind::backward, data, result, data,
                                                                numbers, epsilon, flags, forward, attributes);
    op = std::make_unique<PrimitiveOp>(layer_normalization_backward(backward), request.threads);
    op->in = {x, y, param, param, statistic, statistic};
    op->out = {x, param, param};
    op->add(DNNL_ARG_SRC, data, From::input, 0);
    op->add(DNNL_ARG_DIFF_DST, result, From::input, 1);
    op->add(DNNL_ARG_SCALE, params, From::input, 2);
    op->add(DNNL_ARG_SHIFT, params, From::input, 3);
    op->add(DNNL_ARG_MEAN, numbers, From::input, 4);
    op->add(DNNL_ARG_VARIANCE, numbers, From::input, 5);
    op->add(DNNL_ARG_DIFF_SRC, data, From::output, 0);
    op->add(DNNL_ARG_DIFF_SCALE, params, From::output, 1);
    op->add(DNNL_ARG_DIFF_SHIFT, params, From::output, 2);
    op->operations = 12.0 * static_cast<double>(x.count());
    finish(backward);
  }
  return std::unique_ptr<Op>(std::move(op));
}

Status settle_alike(NormSpec& spec) {
  if (spec.x.format.is_any()) spec.x.format = spec.y.format.is_any() ? Format::plain() : spec.y.format;
  if (spec.y.format.is_any()) spec.y.format = spec.x.format;
  return spec.x == spec.y ? Status() : Status::unsupported("norm by channel: x and y need one format and dtype");
}

std::string refused_by_channel(const Epilogue& epilogue) {
  const auto& pointwise = epilogue.pointwise;
  if (!pointwise) return {};
  if (pointwise->known != Known::relu) return "not fused: a norm by channel takes a relu and a sum only";
  if (epilogue.add && !pointwise->from_output) return "not fused: the gradient would need the sum before the relu";
  return {};
}

// Without an addend the ReLU's input is recomputed from x, which is read anyway.
Mask add_epilogue_operands(const NormSpec& spec, Op& op) {
  const bool relu = spec.epilogue.pointwise.has_value();
  if (relu && spec.epilogue.add) op.in.push_back(spec.y);
  if (spec.epilogue.add) op.out.push_back(spec.y);
  return !relu ? Mask::none : spec.epilogue.add ? Mask::from_output : Mask::from_input;
}

Prepared prepare(const NormSpec& spec, const Request& request) {
  DLHOST_TRY(spec.check());
  switch (spec.kind) {
  case NormSpec::Kind::batch: return prepare_batch_norm(spec);
  case NormSpec::Kind::layer: return prepare_layer_norm(spec, request);
  case NormSpec::Kind::group: return prepare_group_norm(spec);
  case NormSpec::Kind::rms: return prepare_rms_norm(spec);
  }
  return Status::internal("norm: this device does not know the kind");
}

} // namespace dlhost::plugins::cpu
