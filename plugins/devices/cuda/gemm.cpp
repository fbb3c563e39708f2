// Matrix products by cuBLASLt, which is column-major: a row-major y[n, u] is for it Y with u rows and n columns.
//
//   feature         Y[u, n] = W'[u, k] X[k, n]     W, X as stored: k rows
//   input gradient  X[k, n] = W[k, u] Y[u, n]
//   param gradient  W[k, u] = X[k, n] Y'[n, u]
//
// The library adds the bias (whose elements follow Y's rows), ReLU and an addend. Its GELU is another function than the
// SDK's (by tanh, not erf). Epilogues that it lacks are done by an own kernel, from a product in f32.
#include <array>
#include <cstdint>
#include <memory>

#include "kernels/finish.h"
#include "libraries.h"
#include "stream.h"

namespace dlhost::plugins::cuda {

namespace {

constexpr std::size_t most_gemm_workspace = std::size_t{32} << 20;

Status blas_status(cublasStatus_t status, std::string_view doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Status::unsupported("cuBLASLt: ", doing, ": ", cublasLtGetStatusString(status));
}

#define DLHOST_BLAS(call, doing) DLHOST_TRY(blas_status((call), (doing)))

bool computes_in(DType type) { return type == DType::f32 || type == DType::bf16 || type == DType::f16; }

cudaDataType_t blas_type(DType type) {
  return type == DType::bf16 ? CUDA_R_16BF : type == DType::f16 ? CUDA_R_16F : CUDA_R_32F;
}

// The library's descriptors of one product. Owned and freed by its op.
class Product {
 public:
  struct Shape {
    std::uint64_t rows = 0, columns = 0, terms = 0; // of the result, column-major
    bool transpose_a = false, transpose_b = false;
    DType operands = DType::f32, result = DType::f32;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  };

  // Also finds the kernel: `wanted`, or the fastest. Errors: what the library lacks.
  Status make(const Libraries& libraries, const Shape& shape, const std::string& wanted) {
    blas_ = libraries.blas;
    shape_ = shape;
    const bool tf32 = libraries.tf32 && shape.operands == DType::f32;
    DLHOST_BLAS(cublasLtMatmulDescCreate(&what_, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
                "describing a product");
    const cublasOperation_t a = shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t b = shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    DLHOST_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, a));
    DLHOST_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, b));
    DLHOST_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, shape.epilogue));
    if (has_bias(shape.epilogue)) {
      const void* somewhere = reinterpret_cast<const void*>(std::uintptr_t{256}); // with the alignment of the bias
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
    return choose(libraries.measured, wanted);
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
  // The library's kernel and its settings: "cublaslt 66, tile 20 stages 8 split 1".
  std::string kernel() const {
    const auto ask = [this](cublasLtMatmulAlgoConfigAttributes_t attribute, auto value) {
      std::size_t written = 0;
      (void)cublasLtMatmulAlgoConfigGetAttribute(&found_.algo, attribute, &value, sizeof value, &written);
      return value;
    };
    return concat("cublaslt ", ask(CUBLASLT_ALGO_CONFIG_ID, std::int32_t{-1}), ", tile ",
                  ask(CUBLASLT_ALGO_CONFIG_TILE_ID, std::uint32_t{0}), " stages ",
                  ask(CUBLASLT_ALGO_CONFIG_STAGES_ID, std::uint32_t{0}), " split ",
                  ask(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, std::int32_t{0}), " scheme ",
                  ask(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, std::uint32_t{0}), " swizzle ",
                  ask(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, std::uint32_t{0}), " option ",
                  ask(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, std::uint32_t{0}), " shapes ",
                  ask(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, std::uint16_t{0}), " ",
                  ask(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, std::uint16_t{0}));
  }

  // D = epilogue(A B + C); C and D have the same form; C null: none.
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

  Status choose(Measured* measured, const std::string& wanted) {
    cublasLtMatmulPreference_t preference = nullptr;
    DLHOST_BLAS(cublasLtMatmulPreferenceCreate(&preference), "making a preference");
    const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, cublasStatus_t (*)(cublasLtMatmulPreference_t)> owner(
        preference, &cublasLtMatmulPreferenceDestroy);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      return blas_status(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                         "setting a preference");
    };
    DLHOST_TRY(prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_gemm_workspace));
    constexpr std::uint32_t alignment = 16; // a view of a larger tensor may start inside it
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      DLHOST_TRY(prefer(attribute, alignment));
    constexpr int most = 8;
    std::array<cublasLtMatmulHeuristicResult_t, most> proposed{};
    int count = 0;
    DLHOST_BLAS(cublasLtMatmulAlgoGetHeuristic(blas_, what_, a_, b_, d_, d_, preference, most, proposed.data(), &count),
                "looking for a kernel");
    const std::string work = text();
    const std::string known = !wanted.empty() || !measured ? wanted : measured->find(work).value_or("");
    float best = -1;
    for (int i = 0; i < count; ++i) {
      if (proposed[static_cast<std::size_t>(i)].state != CUBLAS_STATUS_SUCCESS) continue;
      const auto least = found_;
      found_ = proposed[static_cast<std::size_t>(i)];
      if (!known.empty() ? kernel() == known : !measured || count == 1) return {};
      const auto time = known.empty() ? measure() : Result<float>(Status::unsupported("not the wanted one"));
      if (time.ok() && (best < 0 || *time < best))
        best = *time;
      else
        found_ = least;
    }
    if (best < 0)
      return Status::unsupported("cuBLASLt: of ", count, " kernels for this product ",
                                 known.empty() ? "none works" : concat("none is ", known));
    measured->note(work, kernel());
    return {};
  }

  // Measures on temporary memory.
  Result<float> measure() {
    DLHOST_ASSIGN(const auto a, Lent::make(shape_.rows * shape_.terms * size_of(shape_.operands)));
    DLHOST_ASSIGN(const auto b, Lent::make(shape_.terms * shape_.columns * size_of(shape_.operands)));
    DLHOST_ASSIGN(const auto d, Lent::make(shape_.rows * shape_.columns * size_of(shape_.result)));
    DLHOST_ASSIGN(const auto bias, Lent::make(shape_.rows * size_of(shape_.result)));
    DLHOST_ASSIGN(const auto space, Lent::make(found_.workspaceSize));
    return least_time(nullptr, [&] {
      return run(nullptr, a.data(), b.data(), nullptr, d.data(), has_bias(shape_.epilogue) ? bias.data() : nullptr,
                 space.data());
    });
  }

  std::string text() const {
    return concat("product ", shape_.rows, " ", shape_.columns, " ", shape_.terms, " ", shape_.transpose_a,
                  shape_.transpose_b, " ", name_of(shape_.operands), name_of(shape_.result), " ",
                  static_cast<int>(shape_.epilogue));
  }

  Shape shape_;
  cublasLtHandle_t blas_ = nullptr;
  cublasLtMatmulDesc_t what_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulHeuristicResult_t found_{};
};

#undef DLHOST_BLAS

class BlasGemm final : public KernelOp {
 public:
  // Requires: `direct` has checked the spec and settled the operands. `fused`: the library does the epilogue.
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

  Status make(const Libraries& libraries, const std::string& wanted) {
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
    // With a separate epilogue the product must not overwrite the addend, nor be rounded twice.
    aside_ = !fused_ && (add_ || (out[0].dtype != DType::f32 && finishes()));
    shape.result = aside_ ? DType::f32 : out[0].dtype;
    if (fused_ && bias_) shape.epilogue = relu_ ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    if (fused_ && !bias_ && relu_) shape.epilogue = CUBLASLT_EPILOGUE_RELU;
    constexpr std::string_view apart = ", epilogue apart";
    const bool is_apart = !fused_ && finishes();
    std::string of_product = wanted;
    if (is_apart && of_product.ends_with(apart)) of_product.resize(of_product.size() - apart.size());
    DLHOST_TRY(product_.make(libraries, shape, of_product));
    workspace_ = room<std::byte>(static_cast<std::int64_t>(product_.workspace()));
    if (aside_) product_room_ = room<float>(out[0].count());
    casts_bias_ = fused_ && bias_ && in[2].dtype != out[0].dtype;
    if (casts_bias_) bias_room_ = room<std::byte>(units_ * static_cast<std::int64_t>(size_of(out[0].dtype)));
    if (out.size() > 1) bias_sums_ = room<std::byte>(static_cast<std::int64_t>(bias_gradient_room(units_, rows_)));
    kernel = concat(product_.kernel(), is_apart ? apart : "");
    return {};
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    const auto native = static_cast<cudaStream_t>(stream.native());
    // A is W if it is an operand, else X; B is the other.
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

// Errors: cuBLASLt lacks the operands' dtypes, or there is nothing to multiply.
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

Prepared prepare_gemm(const GemmSpec& spec, const Libraries& libraries, const std::string& wanted) {
  DLHOST_ASSIGN(auto direct, prepare_direct(spec));
  if (wanted == direct->kernel) return direct;
  Status why = takes(*direct);
  if (why.ok()) {
    const auto& pointwise = spec.epilogue.pointwise;
    const bool can_fuse = direct->epilogue_taken && (!pointwise || pointwise->known == Known::relu);
    for (const bool fused : {true, false}) {
      if (fused && !can_fuse) continue;
      auto op = std::make_unique<BlasGemm>(spec, *direct, fused);
      why = op->make(libraries, wanted);
      if (why.ok()) return std::unique_ptr<Op>(std::move(op));
    }
  }
  direct->remark = concat("slow: ", why.message());
  return direct;
}

} // namespace dlhost::plugins::cuda
