#include "stream.h"

#include <new>
#include <utility>

#include <dlhost/host_op.h>

#include "cuda_graph.h"
#include "errors.h"

namespace dlhost::plugins::cuda {

Result<std::unique_ptr<Event>> CudaEvent::make() {
  auto made = std::make_unique<CudaEvent>();
  DLHOST_CUDA(cudaEventCreateWithFlags(&made->event_, cudaEventDisableTiming), "making an event");
  return std::unique_ptr<Event>(std::move(made));
}

CudaEvent::~CudaEvent() {
  if (event_) (void)cudaEventDestroy(event_);
}

Result<bool> CudaEvent::passed() {
  const cudaError_t asked = cudaEventQuery(event_);
  if (asked == cudaErrorNotReady) return false;
  DLHOST_CUDA(asked, "asking for an event");
  return true;
}

Result<std::unique_ptr<CudaStream>> CudaStream::make(int gpu, const Ways& ways) {
  std::unique_ptr<CudaStream> made(new CudaStream);
  made->gpu_ = gpu;
  made->ways_ = ways;
  made->last_.reserve(128);
  DLHOST_CUDA(cudaSetDevice(gpu), "taking GPU ", gpu);
  DLHOST_CUDA(cudaStreamCreateWithFlags(&made->stream_, cudaStreamNonBlocking), "making a stream");
  // With unified addresses, which every GPU that this runs on has, the device knows the host's pointer.
  void* pinned = nullptr;
  DLHOST_CUDA(cudaHostAlloc(&pinned, sizeof(Fault), cudaHostAllocMapped), "pinning host memory");
  made->fault_ = new (pinned) Fault;
  if (ways.graphs && !ways.sync)
    made->replay([stream = made->stream_]() -> std::unique_ptr<Graph> { return std::make_unique<CudaGraph>(stream); });
  return made;
}

CudaStream::~CudaStream() {
  if (cudaSetDevice(gpu_) != cudaSuccess) return; // the process is exiting
  if (stream_) (void)cudaStreamSynchronize(stream_);
  replay_no_more();
  if (dnn_) (void)cudnnDestroy(dnn_);
  if (stream_) (void)cudaStreamDestroy(stream_);
  if (fault_) (void)cudaFreeHost(fault_);
}

Status CudaStream::wait() {
  if (const cudaError_t error = cudaStreamSynchronize(get()); error != cudaSuccess)
    fail(
        status_of(error, concat("one of the ops up to '", last_,
                                "' failed on the GPU, which stays unusable for this process (option sync_errors = true "
                                "of the device names the op)")));
  if (fault_->what != Fault::none) {
    const bool label = fault_->what == Fault::label;
    if (label)
      fail(Status::invalid("cuda: label ", fault_->value, " of row ", fault_->place, " of the batch is not in [0, ",
                           fault_->limit, "): give the layer before the loss more units, or number classes from 0"));
    else
      fail(Status::invalid("cuda: index ", fault_->value, " at place ", fault_->place, " is not in [0, ", fault_->limit,
                           ")"));
    *fault_ = {};
  }
  return take_error();
}

Status CudaStream::record(Event& event) {
  enter();
  DLHOST_CUDA(cudaEventRecord(static_cast<CudaEvent&>(event).get(), get()), "recording an event");
  return {};
}

Status CudaStream::wait_for(Event& event) {
  enter();
  DLHOST_CUDA(cudaStreamWaitEvent(get(), static_cast<CudaEvent&>(event).get(), 0), "waiting for an event");
  return {};
}

void CudaStream::submit(HostOp& op, const HostCall&) {
  fail(Status::unsupported("cuda: '", op.kernel, "' is host code, which does not reach this device's memory"));
}

void CudaStream::enter() {
  if (const cudaError_t error = cudaSetDevice(gpu_); error != cudaSuccess)
    fail(status_of(error, concat("taking GPU ", gpu_)));
}

// From pageable memory the call returns once the bytes are staged: the caller may reuse them.
void CudaStream::bring(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (const cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_); error != cudaSuccess)
    fail(status_of(error, concat("bringing ", bytes, " bytes to the GPU")));
}

Status CudaStream::move_now(void* to, const void* from, std::size_t bytes) {
  if (from)
    DLHOST_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copying ", bytes, " bytes");
  else
    DLHOST_CUDA(cudaMemsetAsync(to, 0, bytes, stream_), "clearing ", bytes, " bytes");
  return {};
}

void CudaStream::launched(const Op& op) {
  last_ = op.kernel;
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    return fail(status_of(error, concat("launching '", op.kernel, "'")));
  if (!ways_.sync) return;
  if (const cudaError_t error = cudaStreamSynchronize(stream_); error != cudaSuccess)
    fail(status_of(error, concat("op '", op.kernel, "' failed on the GPU, which stays unusable for this process")));
}

void CudaStream::kept(std::size_t calls) {
  if (ways_.log) ways_.log->write(LogLevel::debug, concat("cuda: ", calls, " calls of a step are launched as a graph"));
}

void CudaStream::refused(const Status& why) {
  if (ways_.log)
    ways_.log->write(LogLevel::warning,
                     concat("cuda: a part of the step is not launched as a graph, but op by op: ", why.message()));
}

Result<cudnnHandle_t> CudaStream::dnn() {
  if (dnn_) return dnn_;
  enter();
  if (const cudnnStatus_t made = cudnnCreate(&dnn_); made != CUDNN_STATUS_SUCCESS) {
    dnn_ = nullptr;
    return Status::internal("cuda: cuDNN does not start: ", cudnnGetErrorString(made));
  }
  if (const cudnnStatus_t set = cudnnSetStream(dnn_, stream_); set != CUDNN_STATUS_SUCCESS)
    return Status::internal("cuda: cuDNN does not take the stream: ", cudnnGetErrorString(set));
  return dnn_;
}

} // namespace dlhost::plugins::cuda
