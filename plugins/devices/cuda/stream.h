// Streams and events of a GPU. Work runs behind the host; what goes wrong comes back from wait().
#pragma once

#include <string>

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "kernels/work.h"

namespace dlhost::plugins::cuda {

class CudaEvent final : public Event {
 public:
  static Result<std::unique_ptr<Event>> make();
  ~CudaEvent() override;
  Result<bool> passed() override;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaStream final : public WorkStream {
 public:
  // With `sync`, the host waits after each op, so that a fault is known by the op that made it.
  static Result<std::unique_ptr<CudaStream>> make(int gpu, bool sync);
  ~CudaStream() override;

  Status wait() override;
  Status record(Event&) override;
  Status wait_for(Event&) override;
  void submit(HostOp&, const HostCall&) override;
  void* native() override { return stream_; }

  void enter() override;
  Fault* fault() override { return fault_; }
  void bring(void* to, const void* from, std::size_t bytes) override;
  void fail(Status) override;
  void launched(const Op&) override;

  cudaStream_t get() const { return stream_; }
  // cuDNN's words for this stream, made when they are first needed.
  Result<cudnnHandle_t> dnn();

 private:
  CudaStream() = default;
  int gpu_ = 0;
  bool sync_ = false;
  cudaStream_t stream_ = nullptr;
  cudnnHandle_t dnn_ = nullptr;
  Fault* fault_ = nullptr; // pinned, on the host
  std::string last_;       // the kernel that was launched last
  Status first_;
};

} // namespace dlhost::plugins::cuda
