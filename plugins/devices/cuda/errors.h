// CUDA's errors as a Status: with CUDA's name and text, and the remedy if there is one.
#pragma once

#include <string_view>

#include <cuda_runtime_api.h>

#include <dlhost/status.h>

namespace dlhost::plugins::cuda {

// `doing`: such as "copying 100 bytes".
Status status_of(cudaError_t, std::string_view doing);

// Checks for a driver that is new enough. Asks no GPU.
Status check_driver();

// Checks that GPU `which` is usable. Errors: no driver, a driver too old for the build's toolkit, no GPU, no such GPU,
// or no kernels for it.
Status usable(int which);

} // namespace dlhost::plugins::cuda

#define DLHOST_CUDA(call, ...)                                                                                         \
  do {                                                                                                                 \
    if (const cudaError_t dlhost_cuda_ = (call); dlhost_cuda_ != cudaSuccess)                                          \
      return ::dlhost::plugins::cuda::status_of(dlhost_cuda_, ::dlhost::concat(__VA_ARGS__));                          \
  } while (false)
