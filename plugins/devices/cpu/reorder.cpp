// The same logical elements in another format or dtype: plain conversions by the map kernels, formats by oneDNN.
#include "formats.h"
#include "map/map.h"
#include "prepare.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {

using From = PrimitiveOp::From;

Prepared prepare(const ReorderSpec& spec, const Request& request) {
  TensorDesc src = spec.src, dst = spec.dst;
  if (src.format.is_any() || dst.format.is_any() || src.shape != dst.shape)
    return Status::invalid("reorder: from ", to_string(src.shape), " to ", to_string(dst.shape),
                           ": both need one shape and a settled format");
  if (src.format == dst.format) {
    MapSpec same;
    same.expression.result(same.expression.input(0));
    same.in = {src};
    same.out = {dst};
    return make_map(same, map_kernels(), request.threads);
  }
  if (!has_dtype(src.dtype) || !has_dtype(dst.dtype))
    return Status::unsupported("reorder: the cpu device knows no formats for ", name_of(src.dtype), " to ",
                               name_of(dst.dtype));
  const auto groups = std::max(groups_of(src.format), groups_of(dst.format));
  const auto from = describe_grouped(src, groups), to = describe_grouped(dst, groups);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc chosen(engine(), from, engine(), to, attributes);
  auto op = std::make_unique<PrimitiveOp>(dnnl::reorder(chosen), request.threads);
  op->in = {src};
  op->out = {dst};
  op->add(DNNL_ARG_FROM, from, From::input, 0);
  op->add(DNNL_ARG_TO, to, From::output, 0);
  op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
  op->scratch_bytes = chosen.scratchpad_desc().get_size();
  op->kernel = kernel_of(chosen);
  return std::unique_ptr<Op>(std::move(op));
}

} // namespace dlhost::plugins::cpu
