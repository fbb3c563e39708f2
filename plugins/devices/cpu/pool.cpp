// Pooling, on oneDNN.
#include "formats.h"
#include "prepare.h"
#include "primitive.h"
#include "uncounted.h"

namespace dlhost::plugins::cpu {
namespace {

using From = PrimitiveOp::From;
using dnnl::pooling_backward;
using dnnl::pooling_forward;

dnnl::algorithm algorithm_of(const PoolSpec& spec) {
  if (spec.kind == PoolSpec::Kind::max) return dnnl::algorithm::pooling_max;
  return counting(spec) != Counting::none ? dnnl::algorithm::pooling_avg_include_padding
                                          : dnnl::algorithm::pooling_avg_exclude_padding;
}

Status settle(TensorDesc& wanted, const dnnl::memory::desc& chosen) {
  if (!wanted.format.is_any()) return {};
  const auto format = format_of(chosen);
  if (!format) return Status::unsupported("pool: oneDNN chose a layout without a name");
  wanted.format = *format;
  return {};
}

} // namespace

Prepared prepare(const PoolSpec& wanted, const Request& request) {
  DLHOST_TRY(wanted.check());
  for (const auto* desc : {&wanted.x, &wanted.y})
    if (!has_dtype(desc->dtype)) return Status::unsupported("pool: the cpu device has none in ", name_of(desc->dtype));
  PoolSpec spec = wanted;
  // A pool works in the given format.
  if (spec.x.format.is_any()) spec.x.format = spec.y.format.is_any() ? Format::plain() : spec.y.format;
  if (spec.y.format.is_any()) spec.y.format = spec.x.format;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::memory::dims no_gaps(spec.window.size(), 0);
  const auto how = spec.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const pooling_forward::primitive_desc forward(engine(), how, algorithm_of(spec), describe(spec.x), describe(spec.y),
                                                spec.stride, spec.window, no_gaps, spec.pad_low, spec.pad_high,
                                                attributes);
  const auto workspace = forward.workspace_desc();
  std::unique_ptr<PrimitiveOp> op;
  const auto finish = [&](const auto& chosen, From from) {
    if (workspace.get_size() > 0) op->add(DNNL_ARG_WORKSPACE, workspace, from, 1);
    op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
    op->scratch_bytes = chosen.scratchpad_desc().get_size();
    op->workspace_bytes = workspace.get_size();
    op->kernel = kernel_of(chosen);
    op->operations = static_cast<double>(spec.y.count());
    for (auto side : spec.window) op->operations *= static_cast<double>(side);
  };
  if (spec.role == Role::feature) {
    op = std::make_unique<PrimitiveOp>(pooling_forward(forward), request.threads);
    op->in = {spec.x};
    op->out = {spec.y};
    DLHOST_TRY(settle(op->out[0], forward.dst_desc()));
    op->add(DNNL_ARG_SRC, forward.src_desc(), From::input, 0);
    op->add(DNNL_ARG_DST, forward.dst_desc(), From::output, 0);
    finish(forward, From::output);
  } else {
    const pooling_backward::primitive_desc backward(engine(), algorithm_of(spec), describe(spec.x), describe(spec.y),
                                                    spec.stride, spec.window, no_gaps, spec.pad_low, spec.pad_high,
                                                    forward, attributes);
    op = std::make_unique<PrimitiveOp>(pooling_backward(backward), request.threads);
    op->in = {spec.y};
    op->out = {spec.x};
    op->add(DNNL_ARG_DIFF_DST, backward.diff_dst_desc(), From::input, 0);
    op->add(DNNL_ARG_DIFF_SRC, backward.diff_src_desc(), From::output, 0);
    finish(backward, From::input);
  }
  if (counting(spec) == Counting::some) return without_uncounted(std::move(op), spec);
  return std::unique_ptr<Op>(std::move(op));
}

} // namespace dlhost::plugins::cpu
