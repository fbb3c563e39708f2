// Streams and events of a GPU. Work runs behind the host; what goes wrong comes back from wait().
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
    bool sync = false;   // the host waits after each op, so that a fault is known by the op that made it
    bool graphs = false; // steps that come again are launched as graphs; not with `sync`
    Log* log = nullptr;  // null: nobody is told where a step is not
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

  // For whatever comes behind all that the stream was given.
  cudaStream_t get() {
    flush();
    return stream_;
  }
  // cuDNN's words for this stream, made when they are first needed.
  Result<cudnnHandle_t> dnn();

 private:
  CudaStream() = default;
  int gpu_ = 0;
  Ways ways_;
  cudaStream_t stream_ = nullptr;
  cudnnHandle_t dnn_ = nullptr;
  Fault* fault_ = nullptr; // pinned, on the host
  std::string last_;       // the kernel that was launched last
};

} // namespace dlhost::plugins::cuda
