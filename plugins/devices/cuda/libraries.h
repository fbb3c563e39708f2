// Ops computed by NVIDIA's libraries, and what preparing them needs. Each returns the reason if the library has nothing
// for the spec; the direct loops then compute it.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include <dlhost/ops.h>

#include "kernels/prepare.h"
#include "measure.h"

namespace dlhost::plugins::cuda {

struct Libraries {
  cublasLtHandle_t blas = nullptr;
  cudnnHandle_t dnn = nullptr;
  bool tf32 = false;
  Measured* measured = nullptr; // null: no measuring
};

// `wanted`: the kernel of an earlier run; empty: any.
Prepared prepare_gemm(const GemmSpec&, const Libraries&, const std::string& wanted);
Prepared prepare_conv(const ConvSpec&, const Libraries&, const std::string& wanted);

} // namespace dlhost::plugins::cuda
