// Convolutions by cuDNN, through its calls of C (docs/decisions/cuda.md says why not through its graphs yet). A
// transposed convolution is the gradient of one: what is made decides which of the three calls it is.
//
// Deterministic algorithms only; and in f32 none that multiplies in another domain or with fewer bits, unless the
// option tf32 allows it.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/finish.h"
#include "libraries.h"
#include "stream.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace dlhost::plugins::cuda {

namespace {

constexpr std::size_t most_conv_workspace = std::size_t{1} << 30;

Status dnn_status(cudnnStatus_t status, std::string_view doing) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  return Status::unsupported("cuDNN: ", doing, ": ", cudnnGetErrorString(status));
}

cudnnDataType_t dnn_type(DType type) {
  return type == DType::bf16 ? CUDNN_DATA_BFLOAT16 : type == DType::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
}

using Ints = std::array<int, max_rank>;

// A line of space is a picture of one row: cuDNN has two axes or three.
Ints with_two_axes(const Shape& shape, int& rank) {
  Ints dims{};
  std::size_t at = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis == 2 && shape.rank() == 3) dims[at++] = 1;
    dims[at++] = static_cast<int>(shape[axis]);
  }
  rank = static_cast<int>(at);
  return dims;
}

enum class Made : std::uint8_t { small, big, weights };

// The library's descriptions of one convolution.
class Convolution {
 public:
  Convolution() = default;
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;
  ~Convolution() {
    if (big_) (void)cudnnDestroyTensorDescriptor(big_);
    if (small_) (void)cudnnDestroyTensorDescriptor(small_);
    if (w_) (void)cudnnDestroyFilterDescriptor(w_);
    if (how_) (void)cudnnDestroyConvolutionDescriptor(how_);
  }

  Status describe(const ConvSpec& spec, DType type) {
    const Shape &big = spec.transposed ? spec.y.shape : spec.x.shape,
                &small = spec.transposed ? spec.x.shape : spec.y.shape;
    DLHOST_TRY(tensor(big_, big, type));
    DLHOST_TRY(tensor(small_, small, type));
    int rank = 0;
    const Ints w = with_two_axes(spec.w.shape, rank);
    DLHOST_TRY(dnn_status(cudnnCreateFilterDescriptor(&w_), "making a description"));
    DLHOST_TRY(dnn_status(cudnnSetFilterNdDescriptor(w_, dnn_type(type), CUDNN_TENSOR_NCHW, rank, w.data()),
                          "describing the weights"));
    const auto numbers = [&](const std::vector<std::int64_t>& list, int otherwise) {
      std::vector<int> made;
      if (list.size() == 1) made.push_back(otherwise);
      for (const auto number : list) made.push_back(static_cast<int>(number));
      return made;
    };
    const auto pad = numbers(spec.pad_low, 0), stride = numbers(spec.stride, 1), dilation = numbers(spec.dilation, 1);
    DLHOST_TRY(dnn_status(cudnnCreateConvolutionDescriptor(&how_), "making a description"));
    DLHOST_TRY(dnn_status(cudnnSetConvolutionNdDescriptor(how_, static_cast<int>(pad.size()), pad.data(), stride.data(),
                                                          dilation.data(), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                          "describing the convolution"));
    return dnn_status(cudnnSetConvolutionGroupCount(how_, static_cast<int>(spec.groups)), "setting groups");
  }

  // Takes the first algorithm that is allowed, or the one whose kernel is wanted.
  // `exact`: in f32, and nothing else.
  Status choose(cudnnHandle_t dnn, Made made, bool exact, DType type, const std::string& wanted) {
    made_ = made;
    exact_ = exact;
    const cudnnMathType_t math = exact                ? CUDNN_FMA_MATH
                                 : type == DType::f32 ? CUDNN_DEFAULT_MATH // tf32, where the GPU has it
                                                      : CUDNN_TENSOR_OP_MATH;
    DLHOST_TRY(dnn_status(cudnnSetConvolutionMathType(how_, math), "setting how to multiply"));
    int count = 0;
    switch (made) {
    case Made::small: {
      std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> found{};
      DLHOST_TRY(dnn_status(cudnnGetConvolutionForwardAlgorithm_v7(
                                dnn, big_, w_, how_, small_, static_cast<int>(found.size()), &count, found.data()),
                            "looking for an algorithm"));
      const auto other_domain = [](cudnnConvolutionFwdAlgo_t algo) {
        return algo >= CUDNN_CONVOLUTION_FWD_ALGO_FFT && algo <= CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;
      };
      DLHOST_TRY(first_of(found, count, other_domain, "forward", wanted));
      return dnn_status(cudnnGetConvolutionForwardWorkspaceSize(
                            dnn, big_, w_, how_, small_, static_cast<cudnnConvolutionFwdAlgo_t>(algo_), &workspace_),
                        "asking for the workspace");
    }
    case Made::big: {
      std::array<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> found{};
      DLHOST_TRY(dnn_status(cudnnGetConvolutionBackwardDataAlgorithm_v7(
                                dnn, w_, small_, how_, big_, static_cast<int>(found.size()), &count, found.data()),
                            "looking for an algorithm"));
      const auto other_domain = [](cudnnConvolutionBwdDataAlgo_t algo) {
        return algo >= CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT;
      };
      DLHOST_TRY(first_of(found, count, other_domain, "backward data", wanted));
      return dnn_status(cudnnGetConvolutionBackwardDataWorkspaceSize(dnn, w_, small_, how_, big_,
                                                                     static_cast<cudnnConvolutionBwdDataAlgo_t>(algo_),
                                                                     &workspace_),
                        "asking for the workspace");
    }
    case Made::weights: {
      std::array<cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT> found{};
      DLHOST_TRY(dnn_status(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                                dnn, big_, small_, how_, w_, static_cast<int>(found.size()), &count, found.data()),
                            "looking for an algorithm"));
      const auto other_domain = [](cudnnConvolutionBwdFilterAlgo_t algo) {
        return algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT || algo >= CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD;
      };
      DLHOST_TRY(first_of(found, count, other_domain, "backward filter", wanted));
      return dnn_status(
          cudnnGetConvolutionBackwardFilterWorkspaceSize(
              dnn, big_, small_, how_, w_, static_cast<cudnnConvolutionBwdFilterAlgo_t>(algo_), &workspace_),
          "asking for the workspace");
    }
    }
    return {};
  }

  const std::string& kernel() const { return kernel_; }
  std::size_t workspace() const { return workspace_; }

  // What is made becomes `result`; of the other two, `first` is the big side, or the small one where the big is made.
  Status run(cudnnHandle_t dnn, const void* first, const void* second, void* result, void* workspace) {
    const float one = 1, none = 0;
    switch (made_) {
    case Made::small:
      return dnn_status(cudnnConvolutionForward(dnn, &one, big_, first, w_, second, how_,
                                                static_cast<cudnnConvolutionFwdAlgo_t>(algo_), workspace, workspace_,
                                                &none, small_, result),
                        "launching");
    case Made::big:
      return dnn_status(cudnnConvolutionBackwardData(dnn, &one, w_, second, small_, first, how_,
                                                     static_cast<cudnnConvolutionBwdDataAlgo_t>(algo_), workspace,
                                                     workspace_, &none, big_, result),
                        "launching");
    case Made::weights:
      return dnn_status(cudnnConvolutionBackwardFilter(dnn, &one, big_, first, small_, second, how_,
                                                       static_cast<cudnnConvolutionBwdFilterAlgo_t>(algo_), workspace,
                                                       workspace_, &none, w_, result),
                        "launching");
    }
    return {};
  }

 private:
  static Status tensor(cudnnTensorDescriptor_t& desc, const Shape& shape, DType type) {
    int rank = 0;
    const Ints dims = with_two_axes(shape, rank);
    Ints strides{};
    int step = 1;
    for (int axis = rank; axis-- > 0;) {
      strides[static_cast<std::size_t>(axis)] = step;
      step *= dims[static_cast<std::size_t>(axis)];
    }
    DLHOST_TRY(dnn_status(cudnnCreateTensorDescriptor(&desc), "making a description"));
    return dnn_status(cudnnSetTensorNdDescriptor(desc, dnn_type(type), rank, dims.data(), strides.data()),
                      "describing a tensor");
  }

  template <class Found, class OtherDomain>
  Status first_of(const Found& found, int count, const OtherDomain& other_domain, std::string_view call,
                  const std::string& wanted) {
    for (int i = 0; i < count; ++i) {
      const auto& one = found[static_cast<std::size_t>(i)];
      const bool tensor_cores =
          one.mathType == CUDNN_TENSOR_OP_MATH || one.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
      if (one.status != CUDNN_STATUS_SUCCESS || one.determinism != CUDNN_DETERMINISTIC ||
          one.memory > most_conv_workspace || (exact_ && (other_domain(one.algo) || tensor_cores)))
        continue;
      kernel_ = concat("cudnn ", call, " ", static_cast<int>(one.algo), " math ", static_cast<int>(one.mathType));
      if (!wanted.empty() && kernel_ != wanted) continue;
      algo_ = static_cast<int>(one.algo);
      return dnn_status(cudnnSetConvolutionMathType(how_, exact_ ? CUDNN_FMA_MATH : one.mathType),
                        "setting how to multiply");
    }
    return Status::unsupported("cuDNN: no algorithm of ", call, " that is deterministic",
                               exact_ ? " and computes in f32" : "", " among ", count);
  }

  Made made_ = Made::small;
  bool exact_ = true;
  cudnnTensorDescriptor_t big_ = nullptr, small_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t how_ = nullptr;
  int algo_ = 0;
  std::string kernel_;
  std::size_t workspace_ = 0;
};

class DnnConv final : public KernelOp {
 public:
  // `direct` has checked the spec and settled the operands.
  DnnConv(const ConvSpec& spec, const Op& direct)
      : role_(spec.role), transposed_(spec.transposed), rows_(spec.y.shape[0]), channels_(spec.y.shape[1]),
        inner_(spec.y.shape.past(2)) {
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
    DLHOST_TRY(convolution_.describe(spec, type));
    const Made made = role_ == Role::param_gradient                 ? Made::weights
                      : (role_ == Role::feature) != spec.transposed ? Made::small
                                                                    : Made::big;
    const bool exact = type == DType::f32 && !libraries.tf32;
    DLHOST_TRY(convolution_.choose(libraries.dnn, made, exact, type, wanted));
    kernel = convolution_.kernel();
    // The library makes what it reads; an addend must not be written over before it is read.
    aside_ = add_ || out[0].dtype != type;
    workspace_ = room<std::byte>(static_cast<std::int64_t>(convolution_.workspace()));
    if (aside_) product_ = room<std::byte>(out[0].count() * static_cast<std::int64_t>(size_of(type)));
    if (out.size() > 1)
      bias_sums_ = room<std::byte>(static_cast<std::int64_t>(bias_gradient_room(channels_, rows_ * inner_)));
    return {};
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    auto dnn = static_cast<CudaStream&>(stream).dnn();
    if (!dnn.ok()) return stream.fail(std::move(dnn).status());
    // The weights come second; where they are made, the small side does: dy, or x where it is transposed.
    const bool swap = role_ == Role::param_gradient && transposed_;
    const void *first = call.in[swap ? 1 : 0], *second = call.in[swap ? 0 : 1];
    void* made = aside_ ? static_cast<void*>(product_.in(call)) : call.out[0];
    if (Status status =
            convolution_.run(*dnn, first, second, made, convolution_.workspace() > 0 ? workspace_.in(call) : nullptr);
        !status.ok())
      return stream.fail(std::move(status).at("cuda: conv"));
    if (aside_ || bias_ || function_.result >= 0) {
      Finish finish{.inner = inner_, .channels = channels_, .function = function_};
      if (bias_) finish.bias = {call.in[2], in[2].dtype};
      if (add_) finish.addend = {call.in[in.size() - 1], in.back().dtype};
      finish_all(stream, out[0].count(),
                 {{made, aside_ ? in[0].dtype : out[0].dtype}, {call.out[0], out[0].dtype}, finish});
    }
    if (out.size() > 1)
      bias_gradient(stream, rows_ * inner_, {{call.in[1], in[1].dtype}, {call.out[1], out[1].dtype}, inner_, channels_},
                    bias_sums_.in(call));
  }

 private:
  Role role_;
  bool transposed_, bias_ = false, add_ = false, aside_ = false;
  std::int64_t rows_, channels_, inner_;
  Function function_;
  Convolution convolution_;
  Room<std::byte> workspace_, product_, bias_sums_;
};

Status dnn_takes(const ConvSpec& spec, const Op& direct) {
  const DType type = direct.in[0].dtype;
  if ((type != DType::f32 && type != DType::bf16 && type != DType::f16) || direct.in[1].dtype != type)
    return Status::unsupported("cuDNN: no convolution of ", name_of(type), " and ", name_of(direct.in[1].dtype));
  if (spec.pad_low != spec.pad_high)
    return Status::unsupported("cuDNN: a convolution has as much padding below as above");
  constexpr std::int64_t most = std::int64_t{1} << 31;
  for (const TensorDesc* desc : {&spec.x, &spec.w, &spec.y})
    if (desc->count() == 0 || desc->count() >= most)
      return Status::unsupported("cuDNN: tensors have from 1 to 2^31 elements");
  return {};
}

} // namespace

Prepared prepare_conv(const ConvSpec& spec, const Libraries& libraries, const std::string& wanted) {
  DLHOST_ASSIGN(auto direct, prepare_direct(spec));
  if (wanted == direct->kernel) return direct;
  Status why = dnn_takes(spec, *direct);
  if (why.ok()) {
    auto op = std::make_unique<DnnConv>(spec, *direct);
    why = op->make(spec, libraries, wanted);
    if (why.ok()) return std::unique_ptr<Op>(std::move(op));
  }
  direct->remark = concat("slow: ", why.message());
  return direct;
}

} // namespace dlhost::plugins::cuda
