#include "cuda.h"

#include <limits>

#include "cuda_graph.h"
#include "errors.h"
#include "kernels/prepare.h"
#include "nccl_peers.h"
#include "stream.h"
#include "turn.h"

namespace dlhost::plugins::cuda {

Schema Cuda::schema() {
  const Status driver = check_driver();
  return SchemaOf<Options>(concat("An NVIDIA GPU: ops by cuBLASLt, cuDNN and kernels of its own.",
                                  driver.ok() ? "" : concat(" Not on this machine: ", driver.message())))
      .option("gpu", &Options::gpu, "which of the GPUs that the process sees, from 0 on", between(0, 1023))
      .option("turn", &Options::turn,
              "the number of the worker on its machine: each takes the next GPU from `gpu` on, and around again; "
              "dlhost sets it for each",
              at_least(0))
      .option("tf32", &Options::tf32, "multiply f32 with 10 bits of fraction, on tensor cores")
      .option("measure", &Options::measure,
              "choose among the libraries' kernels by measuring them at the start; false: the first that they propose, "
              "so that another run of the same job has the same bits")
      .option("graphs", &Options::graphs,
              "launch the repeated part of each step as one CUDA graph, not kernel by kernel: less work for the host, "
              "which limits steps of small nets; not measured yet")
      .option("sync_errors", &Options::sync_errors, "wait after each op, so that a fault names the op that made it");
}

namespace {

Host* host = nullptr; // set before the first device is made

// start() reports problems of the driver.
Cuda::Options with_gpu(Cuda::Options options) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) (void)cudaGetLastError();
  options.gpu = gpu_of(options.gpu, options.turn, count);
  return options;
}

} // namespace

Status Cuda::begin(Host& given) {
  host = &given;
  return {};
}

void Cuda::end() noexcept { host = nullptr; }

// start() fills members declared after state_; as its initialiser it would run before theirs.
Cuda::Cuda(const Options& options) : options_(with_gpu(options)), compiler_(static_cast<int>(options_.gpu)) {
  state_ = start();
}

Cuda::~Cuda() {
  if (!enter().ok()) return;
  if (libraries_.dnn) (void)cudnnDestroy(libraries_.dnn);
  if (libraries_.blas) (void)cublasLtDestroy(libraries_.blas);
  if (memory_stream_) (void)cudaStreamDestroy(memory_stream_);
}

Status Cuda::start() {
  const int gpu = static_cast<int>(options_.gpu);
  DLHOST_TRY(usable(gpu));
  cudaDeviceProp properties{};
  DLHOST_CUDA(cudaGetDeviceProperties(&properties, gpu), "asking for GPU ", gpu, "'s properties");
  name_ = concat(properties.name, ", compute capability ", properties.major, ".", properties.minor, ", ",
                 properties.totalGlobalMem >> 30, " GiB");
  int pools = 0;
  DLHOST_CUDA(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, gpu), "asking for memory pools");
  if (pools != 0) {
    DLHOST_CUDA(cudaDeviceGetDefaultMemPool(&pool_, gpu), "finding the memory pool");
    std::uint64_t keep = std::numeric_limits<std::uint64_t>::max(); // freed memory stays in the pool
    DLHOST_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "setting the memory pool");
    DLHOST_CUDA(cudaStreamCreateWithFlags(&memory_stream_, cudaStreamNonBlocking), "making a stream");
    pools_ = true;
  }
  if (const auto made = cublasLtCreate(&libraries_.blas); made != CUBLAS_STATUS_SUCCESS)
    return Status::internal("cuda: cuBLASLt does not start: ", cublasLtGetStatusString(made));
  if (const auto made = cudnnCreate(&libraries_.dnn); made != CUDNN_STATUS_SUCCESS)
    return Status::internal("cuda: cuDNN does not start: ", cudnnGetErrorString(made));
  libraries_.tf32 = options_.tf32;
  if (options_.measure) libraries_.measured = &measured_;
  return {};
}

Status Cuda::enter() const {
  DLHOST_TRY(Status(state_));
  DLHOST_CUDA(cudaSetDevice(static_cast<int>(options_.gpu)), "taking GPU ", options_.gpu);
  return {};
}

Device::Traits Cuda::traits() const { return {.host_memory = false, .asynchronous = true, .alignment = 256}; }

std::string Cuda::description() const {
  if (!state_.ok()) return state_.message();
  return concat(name_, options_.tf32 ? ", tf32" : "", options_.graphs ? ", graphs" : "");
}

Status Cuda::out_of_memory(std::size_t bytes) const {
  (void)cudaGetLastError();
  std::size_t free = 0, total = 0;
  if (const cudaError_t asked = cudaMemGetInfo(&free, &total); asked != cudaSuccess)
    return status_of(asked, concat("allocating ", bytes, " bytes"));
  return Status::no_space("cuda: no memory for ", bytes, " bytes on GPU ", options_.gpu, ": ", free, " of its ", total,
                          " are free; take a smaller batch");
}

// Memory in the pool counts as free for this process.
std::optional<Device::Room> Cuda::room() const {
  if (!enter().ok()) return {};
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
    (void)cudaGetLastError();
    return {};
  }
  std::uint64_t reserved = 0, used = 0;
  if (pools_ && cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess &&
      cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess)
    free += reserved - used;
  return Room{total, free};
}

// All streams may use the memory when this returns.
Result<void*> Cuda::allocate(std::size_t bytes) {
  DLHOST_TRY(enter());
  constexpr std::size_t least = 256; // at least one address of its own
  void* made = nullptr;
  const std::size_t size = bytes < least ? least : bytes;
  const cudaError_t error = pools_ ? cudaMallocAsync(&made, size, memory_stream_) : cudaMalloc(&made, size);
  if (error == cudaErrorMemoryAllocation) return out_of_memory(size);
  DLHOST_CUDA(error, "allocating ", size, " bytes");
  if (pools_) DLHOST_CUDA(cudaStreamSynchronize(memory_stream_), "allocating ", size, " bytes");
  return made;
}

// Waits for ops that may still use the memory: it is released only after the last step, so waiting costs nothing.
void Cuda::release(void* data) noexcept {
  if (!data || cudaSetDevice(static_cast<int>(options_.gpu)) != cudaSuccess) return;
  const auto alone = no_other_capture();
  if (cudaDeviceSynchronize() != cudaSuccess) return; // a fault: the context and its memory are lost
  if (pools_)
    (void)cudaFreeAsync(data, memory_stream_);
  else
    (void)cudaFree(data);
}

// Pinned, for all GPUs: for other memory the driver copies through its own buffers and blocks the host.
Result<void*> Cuda::allocate_host(std::size_t bytes) {
  DLHOST_TRY(enter());
  void* made = nullptr;
  DLHOST_CUDA(cudaHostAlloc(&made, bytes == 0 ? 1 : bytes, cudaHostAllocPortable), "pinning ", bytes,
              " bytes of the host's memory");
  return made;
}

void Cuda::release_host(void* memory) noexcept {
  if (memory && cudaSetDevice(static_cast<int>(options_.gpu)) == cudaSuccess) (void)cudaFreeHost(memory);
}

Status Cuda::pin(void* memory, std::size_t bytes) {
  DLHOST_TRY(enter());
  DLHOST_CUDA(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "pinning ", bytes,
              " bytes of memory that is shared");
  return {};
}

void Cuda::unpin(void* memory) noexcept {
  if (cudaSetDevice(static_cast<int>(options_.gpu)) == cudaSuccess) (void)cudaHostUnregister(memory);
}

Result<std::unique_ptr<Stream>> Cuda::stream() {
  DLHOST_TRY(enter());
  DLHOST_ASSIGN(auto made, CudaStream::make(static_cast<int>(options_.gpu), {.sync = options_.sync_errors,
                                                                             .graphs = options_.graphs,
                                                                             .log = host ? &host->log() : nullptr}));
  return std::unique_ptr<Stream>(std::move(made));
}

Result<std::unique_ptr<Event>> Cuda::event() {
  DLHOST_TRY(enter());
  return CudaEvent::make();
}

Status Cuda::copy(Stream& stream, void* dst, const void* src, std::size_t bytes, Direction direction) {
  if (bytes == 0) return {};
  DLHOST_TRY(enter());
  auto& on = static_cast<CudaStream&>(stream);
  if (direction == Direction::within) return on.move(dst, src, bytes);
  const cudaMemcpyKind way = direction == Direction::to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
  DLHOST_CUDA(cudaMemcpyAsync(dst, src, bytes, way, on.get()), "copying ", bytes, " bytes");
  return {};
}

Status Cuda::fill_zero(Stream& stream, void* dst, std::size_t bytes) {
  if (bytes == 0) return {};
  DLHOST_TRY(enter());
  return static_cast<CudaStream&>(stream).move(dst, nullptr, bytes);
}

std::size_t Cuda::bytes(const TensorDesc& desc) const { return desc.plain_bytes(); }

std::string Cuda::format_name(const TensorDesc& desc) const { return name_of_format(desc); }

Result<Format> Cuda::format_named(const TensorDesc& plain, const std::string& wanted) {
  return format_of_name(plain, wanted);
}

std::int64_t Cuda::rows_together(const TensorDesc&) const { return 1; } // samples come first in both formats

Result<std::unique_ptr<Op>> Cuda::prepare(const OpSpec& spec, const Choice& choice) {
  DLHOST_TRY(enter());
  if (choice.block_samples > 0 && sums_over_samples(spec))
    return Status::unsupported("cuda: no ", name_of(spec), " whose sums are made in blocks of samples (reproducible)");
  const std::lock_guard lock(preparing_);
  const auto prepare_one = [&](const auto& one) -> Prepared {
    using Spec = std::decay_t<decltype(one)>;
    if constexpr (std::is_same_v<Spec, GemmSpec>)
      return prepare_gemm(one, libraries_, choice.kernel);
    else if constexpr (std::is_same_v<Spec, ConvSpec>)
      return prepare_conv(one, libraries_, choice.kernel);
    else if constexpr (std::is_same_v<Spec, MapSpec>)
      return prepare_own(one, &compiler_);
    else
      return prepare_own(one);
  };
  DLHOST_ASSIGN(auto op, std::visit(prepare_one, spec));
  if (!choice.kernel.empty() && op->kernel != choice.kernel)
    return Status::unsupported("the plan was made with kernel '", choice.kernel, "', but here it is '", op->kernel,
                               "': plan again");
  return op;
}

Result<std::string> Cuda::convene() {
  DLHOST_TRY(enter());
  return convene_nccl();
}

Result<std::unique_ptr<Peers>> Cuda::join(const std::string& convened, int rank, int count) {
  DLHOST_TRY(enter());
  return join_nccl(convened, rank, count);
}

} // namespace dlhost::plugins::cuda
