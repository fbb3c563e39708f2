// CUDA's errors as a Status: its own name and words, and where it has one, what to do.
#pragma once

#include <string_view>

#include <cuda_runtime_api.h>

#include <dlhost/status.h>

namespace dlhost::plugins::cuda {

// `doing` as in "copying 100 bytes".
Status status_of(cudaError_t, std::string_view doing);

// Is there a driver that is new enough? Asks no GPU.
Status check_driver();

// Can GPU `which` be used at all? Else which of these it is: no driver, a driver too old for the toolkit that this was
// built with, no GPU, no such GPU, or no kernels of ours for it.
Status usable(int which);

} // namespace dlhost::plugins::cuda

#define DLHOST_CUDA(call, ...)                                                                                         \
  do {                                                                                                                 \
    if (const cudaError_t dlhost_cuda_ = (call); dlhost_cuda_ != cudaSuccess)                                          \
      return ::dlhost::plugins::cuda::status_of(dlhost_cuda_, ::dlhost::concat(__VA_ARGS__));                          \
  } while (false)
