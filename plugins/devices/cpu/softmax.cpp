// Softmax over one axis, on oneDNN.
#include "formats.h"
#include "prepare.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

using From = PrimitiveOp::From;
using dnnl::softmax_backward;
using dnnl::softmax_forward;

} // namespace

Prepared prepare(const SoftmaxSpec& spec, const Request& request) {
  if (spec.x.shape != spec.y.shape || spec.axis >= spec.x.shape.rank())
    return Status::invalid("softmax: x ", to_string(spec.x.shape), " and y ", to_string(spec.y.shape),
                           " must have one shape, and it must have axis ", spec.axis);
  TensorDesc x = spec.x, y = spec.y;
  if (x.format.is_any()) x.format = y.format.is_any() ? Format::plain() : y.format;
  if (y.format.is_any()) y.format = x.format;
  if (!has_dtype(x.dtype) || !has_dtype(y.dtype))
    return Status::unsupported("softmax: the cpu device has none for ", name_of(x.dtype));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto algorithm = spec.logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  const softmax_forward::primitive_desc forward(engine(), dnnl::prop_kind::forward_training, algorithm, describe(x),
                                                describe(y), static_cast<int>(spec.axis), attributes);
  std::unique_ptr<PrimitiveOp> op;
  const auto finish = [&](const auto& chosen) {
    op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
    op->scratch_bytes = chosen.scratchpad_desc().get_size();
    op->kernel = kernel_of(chosen);
    op->operations = 5.0 * static_cast<double>(x.count());
  };
  if (spec.role == Role::feature) {
    op = std::make_unique<PrimitiveOp>(softmax_forward(forward), request.threads);
    op->in = {x};
    op->out = {y};
    op->add(DNNL_ARG_SRC, describe(x), From::input, 0);
    op->add(DNNL_ARG_DST, describe(y), From::output, 0);
    finish(forward);
  } else {
    const softmax_backward::primitive_desc backward(engine(), algorithm, describe(x), describe(y), describe(y),
                                                    static_cast<int>(spec.axis), forward, attributes);
    op = std::make_unique<PrimitiveOp>(softmax_backward(backward), request.threads);
    op->in = {y, y};
    op->out = {x};
    op->add(DNNL_ARG_DST, describe(y), From::input, 0);
    op->add(DNNL_ARG_DIFF_DST, describe(y), From::input, 1);
    op->add(DNNL_ARG_DIFF_SRC, describe(x), From::output, 0);
    finish(backward);
  }
  return std::unique_ptr<Op>(std::move(op));
}

} // namespace dlhost::plugins::cpu
