// Local response normalisation, on oneDNN.
#include "formats.h"
#include "prepare.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

using From = PrimitiveOp::From;
using dnnl::lrn_backward;
using dnnl::lrn_forward;

} // namespace

Prepared prepare(const LrnSpec& wanted, const Request& request) {
  LrnSpec spec = wanted;
  if (spec.x.format.is_any()) spec.x.format = spec.y.format.is_any() ? Format::plain() : spec.y.format;
  if (spec.y.format.is_any()) spec.y.format = spec.x.format;
  if (spec.x.shape != spec.y.shape || spec.x.format != spec.y.format)
    return Status::invalid("lrn: x and y must have one shape and format");
  if (!has_dtype(spec.x.dtype) || spec.x.dtype != spec.y.dtype)
    return Status::unsupported("lrn: the cpu device has none in ", name_of(spec.x.dtype));
  const auto data = describe(spec.x);
  const auto algorithm =
      spec.within_channel ? dnnl::algorithm::lrn_within_channel : dnnl::algorithm::lrn_across_channels;
  const auto alpha = static_cast<float>(spec.alpha), beta = static_cast<float>(spec.beta),
             k = static_cast<float>(spec.k);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto how = spec.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const lrn_forward::primitive_desc forward(engine(), how, algorithm, data, data, spec.size, alpha, beta, k,
                                            attributes);
  const auto workspace = forward.workspace_desc();
  std::unique_ptr<PrimitiveOp> op;
  const auto finish = [&](const auto& chosen, From from, std::size_t which) {
    if (workspace.get_size() > 0) op->add(DNNL_ARG_WORKSPACE, workspace, from, which);
    op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
    op->scratch_bytes = chosen.scratchpad_desc().get_size();
    op->workspace_bytes = workspace.get_size();
    op->kernel = kernel_of(chosen);
    const auto summed = static_cast<double>(spec.within_channel ? spec.size * spec.size : spec.size);
    op->operations = (2 * summed + 20) * static_cast<double>(spec.x.count());
  };
  if (spec.role == Role::feature) {
    op = std::make_unique<PrimitiveOp>(lrn_forward(forward), request.threads);
    op->in = {spec.x};
    op->out = {spec.y};
    op->add(DNNL_ARG_SRC, data, From::input, 0);
    op->add(DNNL_ARG_DST, data, From::output, 0);
    finish(forward, From::output, 1);
  } else {
    const lrn_backward::primitive_desc backward(engine(), algorithm, data, data, data, spec.size, alpha, beta, k,
                                                forward, attributes);
    op = std::make_unique<PrimitiveOp>(lrn_backward(backward), request.threads);
    op->in = {spec.x, spec.y};
    op->out = {spec.x};
    op->add(DNNL_ARG_SRC, data, From::input, 0);
    op->add(DNNL_ARG_DIFF_DST, data, From::input, 1);
    op->add(DNNL_ARG_DIFF_SRC, data, From::output, 0);
    finish(backward, From::input, 2);
  }
  return std::unique_ptr<Op>(std::move(op));
}

} // namespace dlhost::plugins::cpu
