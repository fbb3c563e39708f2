// Convolutions, on oneDNN. A transposed convolution is a convolution seen from its output: its feature is that one's
// input gradient, and vice versa. So its weights need no separate layout.
#include <dlhost/parallel.h>

#include "channels.h"
#include "epilogue.h"
#include "formats.h"
#include "map/kernels.h"
#include "prepare.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {
namespace {

using From = PrimitiveOp::From;
using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using memory = dnnl::memory;

// The convolution for a spec, with src and dst from its point of view.
struct Plan {
  const ConvSpec& spec;
  const TensorDesc &src, &dst;
  bool bias;
  dnnl::primitive_attr attributes;

  explicit Plan(const ConvSpec& conv)
      : spec(conv), src(conv.transposed ? conv.y : conv.x), dst(conv.transposed ? conv.x : conv.y),
        bias(conv.b.shape.rank() > 0) {
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  }

  memory::desc weights(DType type) const { return describe_grouped(spec.w.as(type), spec.groups); }
  memory::desc open_weights(DType type) const {
    return describe_grouped(spec.w.as(type).as(Format::any()), spec.groups);
  }
  memory::desc bias_desc() const { return bias && !spec.transposed ? describe(spec.b) : memory::desc(); }
  memory::dims dilation() const {
    memory::dims gaps = spec.dilation;
    for (auto& gap : gaps) --gap;
    return gaps;
  }
  convolution_forward::primitive_desc forward(const memory::desc& w, const dnnl::primitive_attr& how) const {
    return {engine(),
            dnnl::prop_kind::forward_training,
            dnnl::algorithm::convolution_direct,
            describe(src),
            w,
            bias_desc(),
            describe(dst),
            spec.stride,
            dilation(),
            spec.pad_low,
            spec.pad_high,
            how};
  }
  double operations() const {
    return 2.0 * static_cast<double>(spec.w.count()) / static_cast<double>(spec.w.shape[0]) *
           static_cast<double>(dst.count());
  }
};

Status settle(TensorDesc& wanted, const memory::desc& chosen, std::int64_t groups = 1) {
  if (!wanted.format.is_any()) return {};
  const auto format = format_of(chosen, groups);
  if (!format) return Status::unsupported("conv: oneDNN chose a layout without a name");
  wanted.format = *format;
  return {};
}

template <class Chosen> void finish(PrimitiveOp& op, const Chosen& chosen, const Plan& plan) {
  op.add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
  op.scratch_bytes = chosen.scratchpad_desc().get_size();
  op.kernel = kernel_of(chosen);
  op.operations = plan.operations();
}

Result<std::unique_ptr<PrimitiveOp>> forward(Plan& plan, const TensorDesc& src, const TensorDesc& dst,
                                             const Request& request) {
  const auto& spec = plan.spec;
  const auto refused = add_epilogue(spec.epilogue, plan.attributes);
  const auto chosen = plan.forward(plan.weights(spec.w.dtype), plan.attributes);
  auto op = std::make_unique<PrimitiveOp>(convolution_forward(chosen), request.threads);
  op->in = {src, spec.w};
  op->out = {dst};
  DLHOST_TRY(settle(op->in[0], chosen.src_desc()));
  DLHOST_TRY(settle(op->in[1], chosen.weights_desc(), spec.groups));
  DLHOST_TRY(settle(op->out[0], chosen.dst_desc()));
  op->add(DNNL_ARG_SRC, chosen.src_desc(), From::input, 0);
  op->add(DNNL_ARG_WEIGHTS, chosen.weights_desc(), From::input, 1);
  op->add(DNNL_ARG_DST, chosen.dst_desc(), From::output, 0);
  if (plan.bias && !spec.transposed) {
    op->in.push_back(spec.b);
    op->add(DNNL_ARG_BIAS, chosen.bias_desc(), From::input, 2);
  }
  if (!refused.empty()) {
    op->epilogue_taken = false;
    op->remark = refused;
  } else if (spec.epilogue.add) {
    op->start_from(op->in.size(), chosen.dst_desc().get_size());
    op->in.push_back(op->out[0]);
  }
  finish(*op, chosen, plan);
  return op;
}

Result<std::unique_ptr<PrimitiveOp>> backward_data(const Plan& plan, const Request& request) {
  const auto& spec = plan.spec;
  const auto hint = plan.forward(plan.open_weights(spec.w.dtype), {});
  const convolution_backward_data::primitive_desc chosen(
      engine(), dnnl::algorithm::convolution_direct, describe(plan.src), plan.weights(spec.w.dtype), describe(plan.dst),
      spec.stride, plan.dilation(), spec.pad_low, spec.pad_high, hint, plan.attributes);
  auto op = std::make_unique<PrimitiveOp>(convolution_backward_data(chosen), request.threads);
  op->in = {plan.dst, spec.w};
  op->out = {plan.src};
  DLHOST_TRY(settle(op->in[0], chosen.diff_dst_desc()));
  DLHOST_TRY(settle(op->in[1], chosen.weights_desc(), spec.groups));
  DLHOST_TRY(settle(op->out[0], chosen.diff_src_desc()));
  op->add(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), From::input, 0);
  op->add(DNNL_ARG_WEIGHTS, chosen.weights_desc(), From::input, 1);
  op->add(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc(), From::output, 0);
  finish(*op, chosen, plan);
  refuse_epilogue(spec.epilogue, *op);
  return op;
}

convolution_backward_weights::primitive_desc gradient_of(const Plan& plan) {
  const auto& spec = plan.spec;
  const auto hint = plan.forward(plan.open_weights(plan.src.dtype), {});
  return {engine(),
          dnnl::algorithm::convolution_direct,
          describe(plan.src),
          plan.weights(spec.w.dtype),
          plan.bias_desc(),
          describe(plan.dst),
          spec.stride,
          plan.dilation(),
          spec.pad_low,
          spec.pad_high,
          hint,
          plan.attributes};
}

// Whether oneDNN computes the weights' gradient by its reference loops, a hundred times slower, with x and y in the
// formats of this spec's feature.
bool only_reference(const ConvSpec& feature) {
  const Plan plan(feature);
  const auto chosen = plan.forward(plan.weights(feature.w.dtype), {});
  ConvSpec spec = feature;
  if (!settle(spec.x, chosen.src_desc()).ok() || !settle(spec.y, chosen.dst_desc()).ok()) return false;
  spec.w = spec.w.as(DType::f32).as(Format::any());
  return kernel_of(gradient_of(Plan(spec))).starts_with("ref");
}

// The feature's op chooses the formats of x and y for the gradients as well, by its own needs: without AVX-512 it has
// blocks of 8 channels where the gradient needs whole ones. Then plain pictures are better: one product.
ConvSpec open_to_gradients(const ConvSpec& spec) {
  if (!spec.x.format.is_any() || !spec.y.format.is_any() || spec.x.dtype != DType::f32) return spec;
  ConvSpec plain = spec;
  plain.x.format = plain.y.format = Format::plain();
  return only_reference(spec) && !only_reference(plain) ? plain : spec;
}

// A weights' gradient in f32, with x and dy widened from f16: without tiles oneDNN has only reference loops for f16.
class Widened final : public Op {
 public:
  explicit Widened(std::unique_ptr<PrimitiveOp> inner) : inner_(std::move(inner)) {
    for (const auto& wide : inner_->in) {
      in.push_back(wide.as(DType::f16));
      elements_.push_back(static_cast<std::int64_t>(describe(wide).get_size() / sizeof(float)));
    }
    out = inner_->out;
    const auto floats = static_cast<std::size_t>(elements_[0] + elements_[1]);
    inner_scratch_ = (floats * sizeof(float) + alignment - 1) / alignment * alignment;
    scratch_bytes = inner_scratch_ + inner_->scratch_bytes;
    operations = inner_->operations;
    kernel = concat("f32+", inner_->kernel);
    remark = inner_->remark;
    epilogue_taken = inner_->epilogue_taken;
  }
  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    constexpr std::int64_t grain = 1 << 14;
    auto* const room = static_cast<std::byte*>(scratch);
    const void* wide[2] = {};
    std::int64_t before = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      auto* const to = reinterpret_cast<float*>(room) + before;
      const auto* const from = static_cast<const std::byte*>(inputs[i]);
      parallel_ranges(elements_[i], grain, [&](std::int64_t first, std::int64_t last) {
        map_kernels().load(DType::f16, from + first * static_cast<std::int64_t>(size_of(DType::f16)), to + first,
                           last - first);
      });
      wide[i] = to;
      before += elements_[i];
    }
    inner_->execute(stream, wide, outputs, room + inner_scratch_, dynamic);
  }

 private:
  static constexpr std::size_t alignment = 64;
  std::unique_ptr<PrimitiveOp> inner_;
  std::vector<std::int64_t> elements_;
  std::size_t inner_scratch_ = 0;
};

Result<std::unique_ptr<PrimitiveOp>> backward_weights(const Plan& plan, const Request& request) {
  const auto& spec = plan.spec;
  const auto chosen = gradient_of(plan);
  auto op = std::make_unique<PrimitiveOp>(convolution_backward_weights(chosen), request.threads);
  // The spec's order is x, dy; for a transposed convolution src is dy.
  const std::size_t src = spec.transposed ? 1 : 0;
  op->in = {spec.x, spec.y};
  op->out = {spec.w};
  DLHOST_TRY(settle(op->in[src], chosen.src_desc()));
  DLHOST_TRY(settle(op->in[1 - src], chosen.diff_dst_desc()));
  DLHOST_TRY(settle(op->out[0], chosen.diff_weights_desc(), spec.groups));
  op->add(DNNL_ARG_SRC, chosen.src_desc(), From::input, src);
  op->add(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), From::input, 1 - src);
  op->add(DNNL_ARG_DIFF_WEIGHTS, chosen.diff_weights_desc(), From::output, 0);
  if (plan.bias && !spec.transposed) {
    op->out.push_back(spec.b);
    op->add(DNNL_ARG_DIFF_BIAS, chosen.diff_bias_desc(), From::output, 1);
  }
  finish(*op, chosen, plan);
  refuse_epilogue(spec.epilogue, *op);
  return op;
}

Prepared params_gradient(const Plan& plan, const Request& request) {
  const auto& spec = plan.spec;
  if (spec.x.dtype == DType::f16 && kernel_of(gradient_of(plan)).starts_with("ref")) {
    ConvSpec wide = spec;
    wide.x = wide.x.as(DType::f32);
    wide.y = wide.y.as(DType::f32);
    DLHOST_ASSIGN(auto op, backward_weights(Plan(wide), request));
    return std::unique_ptr<Op>(std::make_unique<Widened>(std::move(op)));
  }
  DLHOST_ASSIGN(auto op, backward_weights(plan, request));
  return std::unique_ptr<Op>(std::move(op));
}

// Adds a transposed convolution's bias, which the convolution behind it lacks: added to the feature, summed over dy for
// the gradient.
class WithBias final : public Op {
 public:
  WithBias(std::unique_ptr<Op> inner, const ConvSpec& spec, const Channels& channels)
      : inner_(std::move(inner)), channels_(channels), role_(spec.role) {
    in = inner_->in;
    out = inner_->out;
    (role_ == Role::feature ? in : out).push_back(spec.b);
    scratch_bytes = inner_->scratch_bytes;
    operations = inner_->operations;
    kernel = inner_->kernel;
    remark = inner_->remark;
    epilogue_taken = inner_->epilogue_taken;
  }
  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    inner_->execute(stream, inputs.first(inner_->in.size()), outputs.first(inner_->out.size()), scratch, dynamic);
    if (role_ == Role::feature)
      channels_.add(out[0].dtype, outputs[0], static_cast<const float*>(inputs[2]));
    else
      channels_.sum(in[1].dtype, inputs[1], static_cast<float*>(outputs[1]));
  }

 private:
  std::unique_ptr<Op> inner_;
  Channels channels_;
  Role role_;
};

Prepared finished(std::unique_ptr<Op> op, const ConvSpec& spec) {
  const bool bias = spec.transposed && spec.b.shape.rank() > 0 && spec.role != Role::input_gradient;
  if (!bias) return op;
  if (spec.b.dtype != DType::f32) return Status::unsupported("conv: a transposed convolution's bias must be f32");
  DLHOST_ASSIGN(const auto channels, Channels::of(spec.role == Role::feature ? op->out[0] : op->in[1]));
  return std::unique_ptr<Op>(std::make_unique<WithBias>(std::move(op), spec, channels));
}

Status check(const ConvSpec& spec) {
  const auto rank = spec.x.shape.rank();
  if (rank < 3 || rank > 5 || spec.y.shape.rank() != rank || spec.w.shape.rank() != rank)
    return Status::invalid("conv: x ", to_string(spec.x.shape), ", w ", to_string(spec.w.shape), " and y ",
                           to_string(spec.y.shape), " must have one to three spatial axes, all as many");
  for (const auto* list : {&spec.stride, &spec.pad_low, &spec.pad_high, &spec.dilation})
    if (list->size() != rank - 2) return Status::invalid("conv: the window's lists need ", rank - 2, " numbers");
  for (const auto* desc : {&spec.x, &spec.w, &spec.y, &spec.b})
    if (!has_dtype(desc->dtype)) return Status::unsupported("conv: the cpu device has none in ", name_of(desc->dtype));
  return {};
}

} // namespace

Prepared prepare(const ConvSpec& wanted, const Request& request) {
  DLHOST_TRY(check(wanted));
  const ConvSpec spec = wanted.role == Role::feature && !wanted.transposed ? open_to_gradients(wanted) : wanted;
  Plan plan(spec);
  if (spec.role == Role::param_gradient) {
    DLHOST_ASSIGN(auto op, params_gradient(plan, request));
    return finished(std::move(op), spec);
  }
  if ((spec.role == Role::feature) == spec.transposed) {
    DLHOST_ASSIGN(auto op, backward_data(plan, request));
    return finished(std::move(op), spec);
  }
  DLHOST_ASSIGN(auto op, forward(plan, plan.src, plan.dst, request));
  return finished(std::move(op), spec);
}

} // namespace dlhost::plugins::cpu
