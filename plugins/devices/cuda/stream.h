// Streams and events of a GPU. Work runs asynchronously; errors come from wait().
#pragma once

#include <string>

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <dlhost/host.h>

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
  struct Ways {
    bool sync = false;   // the host waits after each op, so a fault is attributed to its op
    bool graphs = false; // repeated steps are launched as graphs; not with `sync`
    Log* log = nullptr;  // gets the reason if they are not; null: none does
  };
  static Result<std::unique_ptr<CudaStream>> make(int gpu, const Ways&);
  ~CudaStream() override;

  Status wait() override;
  Status record(Event&) override;
  Status wait_for(Event&) override;
  void submit(HostOp&, const HostCall&) override;
  void* native() override { return get(); }

  void enter() override;
  Fault* fault() override { return fault_; }
  void bring(void* to, const void* from, std::size_t bytes) override;
  Status move_now(void* to, const void* from, std::size_t bytes) override;
  void launched(const Op&) override;
  void kept(std::size_t calls) override;
  void refused(const Status& why) override;

  // For work after all that the stream was given.
  cudaStream_t get() {
    flush();
    return stream_;
  }
  // The stream's cuDNN handle, made on first use.
  Result<cudnnHandle_t> dnn();

 private:
  CudaStream() = default;
  int gpu_ = 0;
  Ways ways_;
  cudaStream_t stream_ = nullptr;
  cudnnHandle_t dnn_ = nullptr;
  Fault* fault_ = nullptr; // pinned, on the host
  std::string last_;       // the kernel launched last
};

} // namespace dlhost::plugins::cuda
