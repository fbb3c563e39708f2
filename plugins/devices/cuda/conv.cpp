// Convolutions by cuDNN's graphs. A transposed convolution is the gradient of a convolution, so the result decides
// among cuDNN's three operations. Tensor cores want channels last; exact f32 has kernels for plain tensors.
#include <algorithm>
#include <memory>
#include <optional>

#include "conv_plan.h"
#include "errors.h"
#include "kernels/finish.h"
#include "kernels/fold.h"
#include "libraries.h"
#include "stream.h"

namespace dlhost::plugins::cuda {

namespace {

Made made_of(const ConvSpec& spec) {
  if (spec.role == Role::param_gradient) return Made::weights;
  return (spec.role == Role::feature) != spec.transposed ? Made::small : Made::big;
}

bool on_tensor_cores(DType type, const Libraries& libraries) { return type != DType::f32 || libraries.tf32; }

// The fold for a convolution over few channels, as pictures have; none: it is computed unfolded.
std::optional<Fold> fold_of(const ConvSpec& spec, const Libraries& libraries) {
  const std::int64_t channels = spec.x.shape[1];
  if (!on_tensor_cores(spec.x.dtype, libraries) || spec.transposed || spec.groups != 1 ||
      spec.role == Role::input_gradient || channels >= channels_at_once(spec.x.dtype) ||
      std::ranges::any_of(spec.dilation, [](std::int64_t one) { return one != 1; }))
    return std::nullopt;
  const auto geometry =
      Geometry::make("conv", spec.x.shape, spec.y.shape, std::span(spec.w.shape.begin() + 2, spec.w.shape.end()),
                     spec.stride, spec.pad_low, spec.pad_high, spec.dilation);
  if (!geometry.ok()) return std::nullopt;
  const Fold fold(*geometry, channels, spec.x.dtype);
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (spec.x.shape[0] * fold.place_count() * fold.folded_channels >= most) return std::nullopt;
  return fold;
}

// The spec with all formats settled.
ConvSpec settled(const ConvSpec& wanted, const Libraries& libraries) {
  ConvSpec spec = wanted;
  if (fold_of(spec, libraries)) spec.x = plain_of(spec.x); // the format of batches
  const Format liked = on_tensor_cores(spec.x.dtype, libraries) ? channels_last : Format::plain();
  for (TensorDesc* desc : {&spec.x, &spec.w, &spec.y}) desc->format = lies(*desc, liked).format;
  return spec;
}

// The folded spec, as the library sees it.
ConvSpec folded(const ConvSpec& wanted, const Fold& fold) {
  ConvSpec spec = wanted;
  for (TensorDesc* desc : {&spec.x, &spec.w}) {
    desc->format = channels_last;
    desc->shape[1] = fold.folded_channels;
  }
  const std::size_t axes = spec.stride.size();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    spec.x.shape[axis + 2] = fold.places[3 - axes + axis];
    spec.w.shape[axis + 2] = fold.folded_window[3 - axes + axis];
  }
  spec.stride.assign(axes, 1);
  spec.pad_low.assign(axes, 0);
  spec.pad_high.assign(axes, 0);
  return spec;
}

class DnnConv final : public KernelOp {
 public:
  // Requires: `direct` has checked the spec and settled the operands.
  DnnConv(const ConvSpec& spec, const Op& direct)
      : role_(spec.role), made_(made_of(spec)), transposed_(spec.transposed), channels_(spec.y.shape[1]),
        inner_(spec.y.format.is_plain() ? spec.y.shape.past(2) : 1), terms_(spec.y.shape[0] * spec.y.shape.past(2)) {
    in = direct.in;
    out = direct.out;
    epilogue_taken = direct.epilogue_taken;
    remark = direct.remark;
    operations = direct.operations;
    bias_ = role_ == Role::feature && spec.b.shape.rank() > 0;
    add_ = epilogue_taken && spec.epilogue.add;
    if (epilogue_taken) function_ = *function_of(spec.epilogue);
  }

  Status make(const ConvSpec& spec, const Libraries& libraries, const std::string& wanted) {
    const DType type = in[0].dtype;
    fold_ = fold_of(spec, libraries);
    const ConvSpec seen = fold_ ? folded(spec, *fold_) : spec;
    constexpr std::string_view adding = ", adding";
    ConvPlan::Wanted plan{.made = made_, .type = type, .exact = !on_tensor_cores(type, libraries), .kernel = wanted};
    auto made = Result<ConvPlan>(Status::unsupported("there is nothing to add"));
    if (add_ && function_.result < 0 && !bias_ && !fold_ && out[0].dtype == type &&
        (wanted.empty() || wanted.ends_with(adding))) {
      if (!wanted.empty()) plan.kernel.resize(wanted.size() - adding.size());
      made = ConvPlan::make_adding(libraries.dnn, libraries.measured, seen, plan);
    }
    adds_in_place_ = made.ok();
    plan.kernel = wanted;
    if (!made.ok()) made = ConvPlan::make(libraries.dnn, libraries.measured, seen, plan);
    DLHOST_ASSIGN(plan_, std::move(made));
    kernel = concat(plan_.kernel(), adds_in_place_ ? adding : "");
    if (fold_) {
      x_lie_ = lie_of(spec.x);
      w_lie_ = lie_of(spec.w);
      filters_ = spec.w.shape[0];
      samples_ = spec.x.shape[0];
      x_room_ = room<std::byte>(seen.x.count() * static_cast<std::int64_t>(size_of(type)));
      w_room_ = room<std::byte>(seen.w.count() * static_cast<std::int64_t>(size_of(type)));
    }
    // Whether the product needs its own memory: an addend must not be overwritten before it is read, and the library
    // writes its own dtype.
    aside_ = ((add_ && !adds_in_place_) || out[0].dtype != type) && !(fold_ && made_ == Made::weights);
    workspace_ = room<std::byte>(static_cast<std::int64_t>(plan_.workspace()));
    if (aside_) product_ = room<std::byte>(out[0].count() * static_cast<std::int64_t>(size_of(type)));
    if (out.size() > 1) bias_sums_ = room<std::byte>(static_cast<std::int64_t>(bias_gradient_room(channels_, terms_)));
    return {};
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    auto dnn = static_cast<CudaStream&>(stream).dnn();
    if (!dnn.ok()) return stream.fail(std::move(dnn).status());
    void* made = aside_ ? static_cast<void*>(product_.in(call)) : call.out[0];
    // For a feature or its gradient: the other side and the weights. For weights: x and dy.
    void *first = const_cast<void*>(call.in[0]), *second = const_cast<void*>(call.in[1]);
    if (fold_) {
      fold_input(stream, *fold_, in[0].dtype, samples_, first, x_lie_, x_room_.in(call));
      first = x_room_.in(call);
      if (made_ == Made::small) {
        fold_weights(stream, *fold_, in[1].dtype, filters_, second, w_lie_, w_room_.in(call));
        second = w_room_.in(call);
      } else {
        made = w_room_.in(call);
      }
    }
    ConvPlan::Tensors tensors{};
    switch (made_) {
    case Made::small: tensors = {first, second, made}; break;
    case Made::big: tensors = {made, second, first}; break;
    case Made::weights:
      if (transposed_) std::swap(first, second);
      tensors = {first, made, second};
      break;
    }
    if (const void* addend = call.in[in.size() - 1]; adds_in_place_ && addend != made)
      if (const cudaError_t error = cudaMemcpyAsync(made, addend, out[0].plain_bytes(), cudaMemcpyDeviceToDevice,
                                                    static_cast<CudaStream&>(stream).get());
          error != cudaSuccess)
        return stream.fail(status_of(error, "cuda: conv: copying the addend"));
    if (Status status = plan_.run(*dnn, tensors, plan_.workspace() > 0 ? workspace_.in(call) : nullptr); !status.ok())
      return stream.fail(std::move(status).at("cuda: conv"));
    if (fold_ && made_ == Made::weights)
      unfold_weights(stream, *fold_, filters_, {made, in[0].dtype}, w_lie_, {call.out[0], out[0].dtype});
    if (aside_ || bias_ || function_.result >= 0) {
      Finish finish{.inner = inner_, .channels = channels_, .function = function_};
      if (bias_) finish.bias = {call.in[2], in[2].dtype};
      if (add_) finish.addend = {call.in[in.size() - 1], in.back().dtype};
      finish_all(stream, out[0].count(),
                 {{made, aside_ ? in[0].dtype : out[0].dtype}, {call.out[0], out[0].dtype}, finish});
    }
    if (out.size() > 1)
      bias_gradient(stream, terms_, {{call.in[1], in[1].dtype}, {call.out[1], out[1].dtype}, inner_, channels_},
                    bias_sums_.in(call));
  }

 private:
  Role role_;
  Made made_;
  bool transposed_, bias_ = false, add_ = false, aside_ = false, adds_in_place_ = false;
  std::optional<Fold> fold_;
  std::int64_t channels_, inner_, terms_, samples_ = 0, filters_ = 0;
  Lie x_lie_, w_lie_; // of the folded tensors
  Function function_;
  ConvPlan plan_;
  Room<std::byte> workspace_, product_, bias_sums_, x_room_, w_room_;
};

Status dnn_takes(const ConvSpec& spec, const Op& direct) {
  const DType type = direct.in[0].dtype;
  if ((type != DType::f32 && type != DType::bf16 && type != DType::f16) || direct.in[1].dtype != type)
    return Status::unsupported("cuDNN: no convolution of ", name_of(type), " and ", name_of(direct.in[1].dtype));
  constexpr std::int64_t most = std::int64_t{1} << 31;
  for (const TensorDesc* desc : {&spec.x, &spec.w, &spec.y})
    if (desc->count() == 0 || desc->count() >= most)
      return Status::unsupported("cuDNN: tensors have from 1 to 2^31 elements");
  return {};
}

// Computes with cuDNN in these formats. Errors: why it cannot.
Prepared with_dnn(const ConvSpec& spec, const Op& direct, const Libraries& libraries, const std::string& wanted) {
  DLHOST_TRY(dnn_takes(spec, direct));
  auto op = std::make_unique<DnnConv>(spec, direct);
  DLHOST_TRY(op->make(spec, libraries, wanted));
  return std::unique_ptr<Op>(std::move(op));
}

} // namespace

Prepared prepare_conv(const ConvSpec& open, const Libraries& libraries, const std::string& wanted) {
  const ConvSpec spec = settled(open, libraries);
  DLHOST_ASSIGN(auto direct, prepare_direct(spec, Format::plain()));
  if (wanted == direct->kernel) return direct;
  auto made = with_dnn(spec, *direct, libraries, wanted);
  if (made.ok()) return made;
  direct->remark = concat("slow: ", made.status().message());
  return direct;
}

} // namespace dlhost::plugins::cuda
