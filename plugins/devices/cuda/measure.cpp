#include "measure.h"

#include <algorithm>

#include "errors.h"

namespace dlhost::plugins::cuda {

Result<Lent> Lent::make(std::size_t bytes) {
  Lent made;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  DLHOST_CUDA(cudaMalloc(&made.data_, size), "allocating ", size, " bytes to measure on");
  DLHOST_CUDA(cudaMemset(made.data_, 0, size), "clearing");
  return made;
}

Lent::~Lent() {
  if (data_) (void)cudaFree(data_);
}

Result<float> least_time(cudaStream_t stream, const std::function<Status()>& run) {
  struct Clock {
    cudaEvent_t event = nullptr;
    ~Clock() {
      if (event) (void)cudaEventDestroy(event);
    }
  };
  Clock before, after;
  DLHOST_CUDA(cudaEventCreate(&before.event), "making an event");
  DLHOST_CUDA(cudaEventCreate(&after.event), "making an event");
  constexpr int runs = 5;
  float least = 0;
  for (int i = 0; i < runs; ++i) {
    DLHOST_CUDA(cudaEventRecord(before.event, stream), "recording an event");
    DLHOST_TRY(run());
    DLHOST_CUDA(cudaEventRecord(after.event, stream), "recording an event");
    DLHOST_CUDA(cudaEventSynchronize(after.event), "measuring a kernel");
    float time = 0;
    DLHOST_CUDA(cudaEventElapsedTime(&time, before.event, after.event), "measuring a kernel");
    if (i == 1 || (i > 1 && time < least)) least = time;
  }
  return least;
}

std::optional<std::string> Measured::find(const std::string& work) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(work);
  return found == kernels_.end() ? std::nullopt : std::optional(found->second);
}

void Measured::note(const std::string& work, const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  kernels_[work] = kernel;
}

} // namespace dlhost::plugins::cuda
