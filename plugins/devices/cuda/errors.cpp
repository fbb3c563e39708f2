#include "errors.h"

#include <cstdlib>

#include "image.h"

namespace dlhost::plugins::cuda {

namespace {

std::string version_words(int version) { return concat(version / 1000, ".", version % 1000 / 10); }

Status no_gpu() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return Status::unsupported(
      "cuda: no GPU: NVIDIA's driver is installed and shows none (",
      visible ? concat("CUDA_VISIBLE_DEVICES is '", visible, "'") : std::string("see nvidia-smi"), ")");
}

// Whether the GPU is lost for this process.
bool is_loss(cudaError_t error) {
  return error == cudaErrorECCUncorrectable || error == cudaErrorNvlinkUncorrectable || error == cudaErrorNoDevice ||
         error == cudaErrorUnknown;
}

} // namespace

Status status_of(cudaError_t error, std::string_view doing) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError(); // cleared, unless it is sticky
  const auto words = concat("cuda: ", doing, ": ", cudaGetErrorName(error), ": ", cudaGetErrorString(error));
  if (error == cudaErrorMemoryAllocation) return Status::no_space(words);
  if (error == cudaErrorDevicesUnavailable)
    return Status::unsupported(words, "; another process has the GPU for itself (its compute mode is exclusive)");
  if (is_loss(error))
    return Status::gone(words, "; the GPU is lost: nvidia-smi and the kernel's log (dmesg, 'Xid') may say why");
  return Status::internal(words);
}

Status check_driver() {
  int driver = 0;
  DLHOST_CUDA(cudaDriverGetVersion(&driver), "asking for the driver's version");
  if (driver == 0)
    return Status::unsupported(
        "cuda: no NVIDIA driver: libcuda.so.1 is not found; install the driver (a container needs "
        "its host's: --gpus all), or take device = \"cpu\"");
  // Within a major version an older driver runs a newer toolkit's code.
  if (driver / 1000 < CUDART_VERSION / 1000)
    return Status::unsupported("cuda: the NVIDIA driver is too old: it supports CUDA ", version_words(driver),
                               ", and this plugin was built with the toolkit of CUDA ", version_words(CUDART_VERSION),
                               "; update the driver, or build with an older toolkit");
  return {};
}

Status usable(int which) {
  DLHOST_TRY(check_driver());
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found == cudaErrorNoDevice || (found == cudaSuccess && count == 0)) {
    (void)cudaGetLastError();
    return no_gpu();
  }
  if (found == cudaErrorInsufficientDriver) {
    (void)cudaGetLastError();
    return Status::unsupported("cuda: the NVIDIA driver is too old for the toolkit that this plugin was built with, of "
                               "CUDA ",
                               version_words(CUDART_VERSION), "; update the driver, or build with an older toolkit");
  }
  DLHOST_CUDA(found, "counting GPUs");
  if (which >= count)
    return Status::invalid("cuda: there is no GPU ", which, ": there ", count == 1 ? "is one, 0" : "are ",
                           count == 1 ? std::string() : concat(count, ", from 0 on"));
  DLHOST_CUDA(cudaSetDevice(which), "taking GPU ", which);
  const auto image = static_cast<cudaError_t>(find_image());
  if (image == cudaErrorNoKernelImageForDevice || image == cudaErrorInvalidDeviceFunction ||
      image == cudaErrorUnsupportedPtxVersion) {
    (void)cudaGetLastError();
    cudaDeviceProp properties{};
    DLHOST_CUDA(cudaGetDeviceProperties(&properties, which), "asking for GPU ", which, "'s properties");
    return Status::unsupported("cuda: no kernel image for this GPU: ", properties.name, " has compute capability ",
                               properties.major, ".", properties.minor,
                               ", and this plugin was built for " DLHOST_CUDA_FOR "; build with -Dgpu_architectures=",
                               properties.major, properties.minor);
  }
  DLHOST_CUDA(image, "looking for our kernels");
  return {};
}

} // namespace dlhost::plugins::cuda
