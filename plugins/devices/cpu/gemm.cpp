// The products of dense layers, on oneDNN's inner products. All three roles use the same format of weights, the feature
// op's, so that separately prepared roles agree.
#include <algorithm>

#include "epilogue.h"
#include "formats.h"
#include "prepare.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

using From = PrimitiveOp::From;
using dnnl::inner_product_backward_data;
using dnnl::inner_product_backward_weights;
using dnnl::inner_product_forward;
using memory = dnnl::memory;

// The shapes for oneDNN. Images are passed as plain matrices, the only kind that its inner products are fast at.
struct Shapes {
  TensorDesc x, w, y, b;
  bool flat = false; // w belonged to an image
};

Result<Shapes> matching(const GemmSpec& spec) {
  Shapes shapes{spec.x, spec.w, spec.y, spec.b};
  for (const auto* desc : {&spec.x, &spec.w, &spec.y, &spec.b})
    if (!has_dtype(desc->dtype))
      return Status::unsupported("gemm: the cpu device computes in f32, bf16 and f16, not in ", name_of(desc->dtype));
  const auto &x = spec.x, &w = spec.w;
  if (x.shape.rank() == 2 && w.shape.rank() == 2) return shapes;
  const bool plain_x = x.format.is_any() || x.format.is_plain();
  const bool matrix_w = w.format.is_any() || w.format.is_plain() || is_flat(w.format) || w.shape.rank() == 2;
  if (!plain_x || !matrix_w) {
    if (x.shape.rank() == w.shape.rank() && x.shape.rank() <= 5) return shapes;
    return Status::unsupported("gemm: x of ", to_string(x.shape), " with w of ", to_string(w.shape), " must be plain");
  }
  shapes.flat = w.shape.rank() != 2;
  shapes.x = as_matrix(x);
  if (x.shape.rank() != 2) shapes.x.format = Format::plain();
  shapes.w = as_matrix(w);
  return shapes;
}

memory::desc bias_of(const Shapes& shapes) { return shapes.b.shape.rank() == 0 ? memory::desc() : describe(shapes.b); }

inner_product_forward::primitive_desc forward_of(const Shapes& shapes, const memory::desc& w,
                                                 const dnnl::primitive_attr& attributes) {
  return {engine(),  dnnl::prop_kind::forward_training, describe(shapes.x), w, bias_of(shapes), describe(shapes.y),
          attributes};
}

inner_product_backward_weights::primitive_desc gradient_of(const Shapes& shapes, const memory::desc& w,
                                                           const inner_product_forward::primitive_desc& hint) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {engine(), describe(shapes.x), w, bias_of(shapes), describe(shapes.y), hint, attributes};
}

// Over all three roles in f32, blocks of 48 units were the best or nearly so for every measured net. In bf16 without
// tiles, blocks of 64, except for wide layers with a remainder, whose input gradient suffers. oneDNN 3.2 computes wrong
// input gradients for f16 in blocks of 48.
memory::desc blocked_weights_of(const Shapes& shapes, DType type) {
  using tag = memory::format_tag;
  const auto own = forward_of(shapes, describe(shapes.w.as(shapes.x.dtype)), {}).weights_desc();
  const auto format = format_of(own);
  const auto units = shapes.w.shape[0];
  const auto is = [&](tag which) { return format && format->id == static_cast<std::uint32_t>(which); };
  const auto blocked = [&](tag which) { return memory::desc({units, shapes.w.shape[1]}, dtype_of(type), which); };
  if (units >= 48 && (is(tag::AB16b32a) || is(tag::AB16b48a) || is(tag::AB16b64a))) {
    if (shapes.x.dtype == DType::f16) return blocked(units >= 64 ? tag::AB16b64a : tag::AB16b32a);
    return blocked(tag::AB16b48a);
  }
  if (units >= 64 && (is(tag::AB8b32a2b) || is(tag::AB8b64a2b))) {
    const bool whole = units % 64 == 0 || units < 4096;
    if (type != DType::f32) return blocked(whole ? tag::AB8b64a2b : tag::AB8b32a2b);
    return blocked(whole ? tag::AB16b64a : tag::AB16b32a);
  }
  // Gradients of interleaved weights are not interleaved: asks again for their layout.
  return type == shapes.x.dtype ? own : describe(shapes.w.as(type));
}

memory::desc plain_weights_of(const Shapes& shapes, DType type) {
  TensorDesc plain = shapes.w.as(type);
  plain.format = Format::plain();
  return describe(plain);
}

// The layout of the weights that all three roles accept. oneDNN's own choice considers only the feature: without
// AVX-512 it has blocks whose gradient it computes by reference loops, some hundred times slower than plain matrices.
memory::desc weights_of(const Shapes& shapes, DType type) {
  if (!shapes.w.format.is_any()) return describe(shapes.w.as(type));
  const auto blocked = blocked_weights_of(shapes, type);
  if (shapes.x.dtype != DType::f32) return blocked;
  const auto gradient = gradient_of(shapes, blocked, forward_of(shapes, blocked, {}));
  return kernel_of(gradient).starts_with("ref") ? plain_weights_of(shapes, type) : blocked;
}

// Sets the layout chosen by oneDNN, with the description's own shape and dtype.
Status settle(TensorDesc& wanted, const memory::desc& chosen, bool flat = false) {
  if (!wanted.format.is_any()) return {};
  const auto format = format_of(chosen);
  if (!format) return Status::unsupported("gemm: oneDNN chose a layout without a name");
  wanted.format = flat ? flattened(*format) : *format;
  return {};
}

double operations_of(const Shapes& shapes) {
  return 2.0 * static_cast<double>(shapes.x.count()) * static_cast<double>(shapes.w.shape[0]);
}

Prepared feature(const GemmSpec& spec, Shapes shapes, const Request& request) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto refused = add_epilogue(spec.epilogue, attributes);
  const auto weights = weights_of(shapes, shapes.w.dtype);
  const auto chosen = forward_of(shapes, weights, attributes);
  auto op = std::make_unique<PrimitiveOp>(inner_product_forward(chosen), request.threads);
  op->in = {spec.x, spec.w};
  op->out = {spec.y};
  DLHOST_TRY(settle(op->in[0], chosen.src_desc()));
  DLHOST_TRY(settle(op->in[1], chosen.weights_desc(), shapes.flat));
  DLHOST_TRY(settle(op->out[0], chosen.dst_desc()));
  op->add(DNNL_ARG_SRC, chosen.src_desc(), From::input, 0);
  op->add(DNNL_ARG_WEIGHTS, chosen.weights_desc(), From::input, 1);
  if (spec.b.shape.rank() > 0) {
    op->in.push_back(spec.b);
    op->add(DNNL_ARG_BIAS, chosen.bias_desc(), From::input, 2);
  }
  op->add(DNNL_ARG_DST, chosen.dst_desc(), From::output, 0);
  op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
  if (!refused.empty()) {
    op->epilogue_taken = false;
    op->remark = refused;
  } else if (spec.epilogue.add) {
    op->start_from(op->in.size(), chosen.dst_desc().get_size());
    op->in.push_back(op->out[0]);
  }
  op->scratch_bytes = chosen.scratchpad_desc().get_size();
  op->kernel = kernel_of(chosen);
  op->operations = operations_of(shapes);
  if (op->remark.empty() && spec.w.format.is_any() && weights != blocked_weights_of(shapes, shapes.w.dtype))
    op->remark = "its weights lie plain: in oneDNN's blocks their gradient would be made by plain loops here";
  return std::unique_ptr<Op>(std::move(op));
}

Prepared input_gradient(const GemmSpec& spec, Shapes shapes, const Request& request) {
  const auto w = weights_of(shapes, shapes.w.dtype);
  const auto hint = forward_of(shapes, w, {});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const inner_product_backward_data::primitive_desc chosen(engine(), describe(shapes.x), w, describe(shapes.y), hint,
                                                           attributes);
  auto op = std::make_unique<PrimitiveOp>(inner_product_backward_data(chosen), request.threads);
  op->in = {spec.y, spec.w};
  op->out = {spec.x};
  DLHOST_TRY(settle(op->in[0], chosen.diff_dst_desc()));
  DLHOST_TRY(settle(op->in[1], chosen.weights_desc(), shapes.flat));
  DLHOST_TRY(settle(op->out[0], chosen.diff_src_desc()));
  op->add(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), From::input, 0);
  op->add(DNNL_ARG_WEIGHTS, chosen.weights_desc(), From::input, 1);
  op->add(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc(), From::output, 0);
  op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
  op->scratch_bytes = chosen.scratchpad_desc().get_size();
  op->kernel = kernel_of(chosen);
  op->operations = operations_of(shapes);
  refuse_epilogue(spec.epilogue, *op);
  return std::unique_ptr<Op>(std::move(op));
}

Prepared param_gradient(const GemmSpec& spec, Shapes shapes, const Request& request) {
  Shapes open = shapes;
  open.w.format = Format::any();
  const auto hint = forward_of(open, weights_of(open, shapes.x.dtype), {});
  const auto chosen = gradient_of(shapes, weights_of(shapes, shapes.w.dtype), hint);
  auto op = std::make_unique<PrimitiveOp>(inner_product_backward_weights(chosen), request.threads);
  op->in = {spec.x, spec.y};
  op->out = {spec.w};
  DLHOST_TRY(settle(op->in[0], chosen.src_desc()));
  DLHOST_TRY(settle(op->in[1], chosen.diff_dst_desc()));
  DLHOST_TRY(settle(op->out[0], chosen.diff_weights_desc(), shapes.flat));
  op->add(DNNL_ARG_SRC, chosen.src_desc(), From::input, 0);
  op->add(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), From::input, 1);
  op->add(DNNL_ARG_DIFF_WEIGHTS, chosen.diff_weights_desc(), From::output, 0);
  if (spec.b.shape.rank() > 0) {
    op->out.push_back(spec.b);
    op->add(DNNL_ARG_DIFF_BIAS, chosen.diff_bias_desc(), From::output, 1);
  }
  op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
  op->scratch_bytes = chosen.scratchpad_desc().get_size();
  op->kernel = kernel_of(chosen);
  op->operations = operations_of(shapes);
  refuse_epilogue(spec.epilogue, *op);
  return std::unique_ptr<Op>(std::move(op));
}

// Some of oneDNN's layouts for weights with more than two axes have no tag, so no name (channels that do not fill a
// block). Then x and w are plain matrices in every role.
bool is_nameless(const Shapes& shapes) {
  if (!shapes.w.format.is_any() || shapes.w.shape.rank() == 2) return false;
  return !format_of(forward_of(shapes, describe(shapes.w.as(shapes.x.dtype)), {}).weights_desc());
}

} // namespace

Prepared prepare(const GemmSpec& wanted, const Request& request) {
  GemmSpec spec = wanted;
  DLHOST_ASSIGN(Shapes shapes, matching(spec));
  if (is_nameless(shapes)) {
    for (auto* desc : {&spec.x, &spec.w, &shapes.x, &shapes.w}) desc->format = Format::plain();
    for (auto* desc : {&shapes.x, &shapes.w}) desc->shape = Shape{desc->shape[0], desc->shape.past(1)};
  }
  switch (spec.role) {
  case Role::feature: return feature(spec, shapes, request);
  case Role::input_gradient: return input_gradient(spec, shapes, request);
  case Role::param_gradient: return param_gradient(spec, shapes, request);
  }
  return Status::internal("gemm: unknown role");
}

} // namespace dlhost::plugins::cpu
