// Matrix products by cuBLASLt. It counts in columns: a row-major y[n, u] is for it Y of u rows and n columns.
//
//   feature         Y[u, n] = W'[u, k] X[k, n]     W, X as they lie: k rows
//   input gradient  X[k, n] = W[k, u] Y[u, n]
//   param gradient  W[k, u] = X[k, n] Y'[n, u]
//
// The bias, whose elements follow Y's rows, relu and an addend are done in passing. Its gelu is another one than the
// SDK's (of tanh, not of erf): what it has no epilogue for our own kernel does afterwards, from a product in f32.
#include <cstdint>
#include <memory>

#include "kernels/finish.h"
#include "libraries.h"
#include "stream.h"

namespace dlhost::plugins::cuda {

namespace {

constexpr std::size_t most_workspace = std::size_t{32} << 20;

Status blas_status(cublasStatus_t status, std::string_view doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Status::unsupported("cuBLASLt: ", doing, ": ", cublasLtGetStatusString(status));
}

#define DLHOST_BLAS(call, doing) DLHOST_TRY(blas_status((call), (doing)))

bool computes_in(DType type) { return type == DType::f32 || type == DType::bf16 || type == DType::f16; }

cudaDataType_t blas_type(DType type) {
  return type == DType::bf16 ? CUDA_R_16BF : type == DType::f16 ? CUDA_R_16F : CUDA_R_32F;
}

// The library's descriptions of one product. Moves with its op, and is freed with it.
class Product {
 public:
  struct Shape {
    std::uint64_t rows = 0, columns = 0, terms = 0; // of the result, counted in columns
    bool transpose_a = false, transpose_b = false;
    DType operands = DType::f32, result = DType::f32;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  };

  // Also finds the kernel. The status says what the library lacks.
  Status make(const Libraries& libraries, const Shape& shape) {
    blas_ = libraries.blas;
    const bool tf32 = libraries.tf32 && shape.operands == DType::f32;
    DLHOST_BLAS(cublasLtMatmulDescCreate(&what_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
                "describing a product");
    const cublasOperation_t a = shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t b = shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    DLHOST_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, a));
    DLHOST_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, b));
    DLHOST_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, shape.epilogue));
    if (has_bias(shape.epilogue)) {
      const void* somewhere = reinterpret_cast<const void*>(std::uintptr_t{256}); // as aligned as the bias will be
      DLHOST_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, somewhere));
      DLHOST_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, blas_type(shape.result)));
    }
    const auto describe = [](cublasLtMatrixLayout_t& layout, DType type, std::uint64_t rows, std::uint64_t columns) {
      return cublasLtMatrixLayoutCreate(&layout, blas_type(type), rows, columns, static_cast<std::int64_t>(rows));
    };
    const auto [m, n, k] = std::array{shape.rows, shape.columns, shape.terms};
    DLHOST_BLAS(describe(a_, shape.operands, shape.transpose_a ? k : m, shape.transpose_a ? m : k), "describing A");
    DLHOST_BLAS(describe(b_, shape.operands, shape.transpose_b ? n : k, shape.transpose_b ? k : n), "describing B");
    DLHOST_BLAS(describe(d_, shape.result, m, n), "describing D");
    return choose();
  }
  Product() = default;
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() {
    if (what_) (void)cublasLtMatmulDescDestroy(what_);
    for (cublasLtMatrixLayout_t layout : {a_, b_, d_})
      if (layout) (void)cublasLtMatrixLayoutDestroy(layout);
  }

  std::size_t workspace() const { return found_.workspaceSize; }

  // D = epilogue(A B + C), C and D of one form; C null: none.
  Status run(cudaStream_t stream, const void* a, const void* b, const void* c, void* d, const void* bias,
             void* workspace) {
    if (bias) DLHOST_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
    const float alpha = 1, beta = c ? 1 : 0;
    return blas_status(cublasLtMatmul(blas_, what_, &alpha, a, a_, b, b_, &beta, c ? c : d, d_, d, d_, &found_.algo,
                                      workspace, found_.workspaceSize, stream),
                       "launching");
  }

 private:
  static bool has_bias(cublasLtEpilogue_t epilogue) { return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }

  template <class T> Status set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return blas_status(cublasLtMatmulDescSetAttribute(what_, attribute, &value, sizeof value), "setting an attribute");
  }

  Status choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    DLHOST_BLAS(cublasLtMatmulPreferenceCreate(&preference), "making a preference");
    const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, cublasStatus_t (*)(cublasLtMatmulPreference_t)> owner(
        preference, &cublasLtMatmulPreferenceDestroy);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      return blas_status(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                         "setting a preference");
    };
    DLHOST_TRY(prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace));
    constexpr std::uint32_t alignment = 16; // what is seen of a larger tensor may begin in the middle of it
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      DLHOST_TRY(prefer(attribute, alignment));
    int count = 0;
    DLHOST_BLAS(cublasLtMatmulAlgoGetHeuristic(blas_, what_, a_, b_, d_, d_, preference, 1, &found_, &count),
                "looking for a kernel");
    if (count == 0) return Status::unsupported("cuBLASLt: there is no kernel for this product");
    return blas_status(found_.state, "choosing a kernel");
  }

  cublasLtHandle_t blas_ = nullptr;
  cublasLtMatmulDesc_t what_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulHeuristicResult_t found_{};
};

#undef DLHOST_BLAS

class BlasGemm final : public KernelOp {
 public:
  // `direct` has checked the spec and settled the operands. With `fused` the library does the epilogue.
  BlasGemm(const GemmSpec& spec, const Op& direct, bool fused)
      : role_(spec.role), fused_(fused), rows_(spec.y.shape[0]), units_(spec.y.shape[1]), terms_(spec.x.shape.past(1)) {
    in = direct.in;
    out = direct.out;
    epilogue_taken = direct.epilogue_taken;
    remark = direct.remark;
    operations = direct.operations;
    bias_ = role_ == Role::feature && spec.b.shape.rank() > 0;
    add_ = epilogue_taken && spec.epilogue.add;
    relu_ = epilogue_taken && spec.epilogue.pointwise && spec.epilogue.pointwise->known == Known::relu;
    if (epilogue_taken) function_ = *function_of(spec.epilogue);
  }

  Status make(const Libraries& libraries) {
    const auto u = static_cast<std::uint64_t>(units_), k = static_cast<std::uint64_t>(terms_),
               n = static_cast<std::uint64_t>(rows_);
    Product::Shape shape;
    if (role_ == Role::feature)
      shape = {.rows = u, .columns = n, .terms = k, .transpose_a = true};
    else if (role_ == Role::input_gradient)
      shape = {.rows = k, .columns = n, .terms = u};
    else
      shape = {.rows = k, .columns = u, .terms = n, .transpose_b = true};
    shape.operands = in[0].dtype;
    // Apart, the product must not lie where the addend does, nor be rounded twice.
    aside_ = !fused_ && (add_ || (out[0].dtype != DType::f32 && finishes()));
    shape.result = aside_ ? DType::f32 : out[0].dtype;
    if (fused_ && bias_) shape.epilogue = relu_ ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    if (fused_ && !bias_ && relu_) shape.epilogue = CUBLASLT_EPILOGUE_RELU;
    DLHOST_TRY(product_.make(libraries, shape));
    workspace_ = room<std::byte>(static_cast<std::int64_t>(product_.workspace()));
    if (aside_) product_room_ = room<float>(out[0].count());
    casts_bias_ = fused_ && bias_ && in[2].dtype != out[0].dtype;
    if (casts_bias_) bias_room_ = room<std::byte>(units_ * static_cast<std::int64_t>(size_of(out[0].dtype)));
    if (out.size() > 1) bias_sums_ = room<std::byte>(static_cast<std::int64_t>(bias_gradient_room(units_, rows_)));
    kernel = concat("cublaslt", libraries.tf32 && shape.operands == DType::f32 ? " tf32" : "",
                    fused_ || !finishes() ? "" : ", epilogue apart");
    return {};
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    const auto native = static_cast<cudaStream_t>(stream.native());
    // A is W where there is one, else X; B the other.
    const void *a = role_ == Role::param_gradient ? call.in[0] : call.in[1],
               *b = role_ == Role::param_gradient ? call.in[1] : call.in[0];
    const void* addend = add_ ? call.in[in.size() - 1] : nullptr;
    const void* bias = bias_ ? call.in[2] : nullptr;
    if (casts_bias_) {
      finish_all(stream, units_, {{bias, in[2].dtype}, {bias_room_.in(call), out[0].dtype}, {}});
      bias = bias_room_.in(call);
    }
    void* made = aside_ ? static_cast<void*>(product_room_.in(call)) : call.out[0];
    if (Status status = product_.run(native, a, b, fused_ ? addend : nullptr, made, fused_ ? bias : nullptr,
                                     product_.workspace() > 0 ? workspace_.in(call) : nullptr);
        !status.ok())
      return stream.fail(std::move(status).at("cuda: gemm"));
    if (!fused_ && (finishes() || aside_)) {
      Finish finish{.channels = units_, .function = function_};
      if (bias_) finish.bias = {bias, in[2].dtype};
      if (add_) finish.addend = {addend, in.back().dtype};
      finish_all(stream, out[0].count(),
                 {{made, aside_ ? DType::f32 : out[0].dtype}, {call.out[0], out[0].dtype}, finish});
    }
    if (out.size() > 1)
      bias_gradient(stream, rows_, {{call.in[1], in[1].dtype}, {call.out[1], out[1].dtype}, 1, units_},
                    bias_sums_.in(call));
  }

 private:
  bool finishes() const { return bias_ || add_ || function_.result >= 0; }

  Role role_;
  bool fused_, bias_ = false, add_ = false, relu_ = false, aside_ = false, casts_bias_ = false;
  std::int64_t rows_, units_, terms_;
  Function function_;
  Product product_;
  Room<std::byte> workspace_, bias_room_, bias_sums_;
  Room<float> product_room_;
};

// Does cuBLASLt have the operands' dtypes, and is there anything to multiply?
Status takes(const Op& direct) {
  const DType type = direct.in[0].dtype, result = direct.out[0].dtype;
  if (!computes_in(type) || direct.in[1].dtype != type || (result != type && result != DType::f32))
    return Status::unsupported("cuBLASLt: no product of ", name_of(type), " and ", name_of(direct.in[1].dtype), " in ",
                               name_of(result));
  for (const TensorDesc& desc : {direct.in[0], direct.in[1], direct.out[0]})
    if (desc.count() == 0) return Status::unsupported("cuBLASLt: there is nothing to multiply");
  return {};
}

} // namespace

Prepared prepare_gemm(const GemmSpec& spec, const Libraries& libraries) {
  DLHOST_ASSIGN(auto direct, prepare_direct(spec));
  Status why = takes(*direct);
  if (why.ok()) {
    const auto& pointwise = spec.epilogue.pointwise;
    const bool can_fuse = direct->epilogue_taken && (!pointwise || pointwise->known == Known::relu);
    for (const bool fused : {true, false}) {
      if (fused && !can_fuse) continue;
      auto op = std::make_unique<BlasGemm>(spec, *direct, fused);
      why = op->make(libraries);
      if (why.ok()) return std::unique_ptr<Op>(std::move(op));
    }
  }
  direct->remark = concat("slow: ", why.message());
  return direct;
}

} // namespace dlhost::plugins::cuda
