// Permutes axes, plain to plain: oneDNN's reorder between two layouts of one tensor.
#include <algorithm>

#include "formats.h"
#include "prepare.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {

using From = PrimitiveOp::From;

Prepared prepare(const TransposeSpec& spec, const Request& request) {
  const auto rank = spec.src.shape.rank();
  if (spec.order.size() != rank || spec.dst.shape.rank() != rank)
    return Status::invalid("transpose: the order must name each axis of ", to_string(spec.src.shape), " once");
  for (const auto* desc : {&spec.src, &spec.dst}) {
    if (!desc->format.is_plain() && !desc->format.is_any()) return Status::unsupported("transpose: plain tensors only");
    if (!has_dtype(desc->dtype)) return Status::unsupported("transpose: not in ", name_of(desc->dtype));
  }
  dnnl::memory::dims dims(spec.src.shape.begin(), spec.src.shape.end()), strides(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (std::ranges::count(spec.order, i) != 1 || spec.dst.shape[i] != spec.src.shape[spec.order[i]])
      return Status::invalid("transpose: ", to_string(spec.dst.shape), " is not ", to_string(spec.src.shape),
                             " in that order");
    strides[spec.order[i]] = spec.dst.shape.past(i + 1);
  }
  if (rank == 0) {
    dims = {1};
    strides = {1};
  }
  const auto from = describe(spec.src.as(Format::plain()));
  const dnnl::memory::desc to(dims, dtype_of(spec.dst.dtype), strides);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc chosen(engine(), from, engine(), to, attributes);
  auto op = std::make_unique<PrimitiveOp>(dnnl::reorder(chosen), request.threads);
  op->in = {spec.src.as(Format::plain())};
  op->out = {spec.dst.as(Format::plain())};
  op->add(DNNL_ARG_FROM, from, From::input, 0);
  op->add(DNNL_ARG_TO, to, From::output, 0);
  op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
  op->scratch_bytes = chosen.scratchpad_desc().get_size();
  op->kernel = kernel_of(chosen);
  return std::unique_ptr<Op>(std::move(op));
}

} // namespace dlhost::plugins::cpu
