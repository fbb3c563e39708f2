// Companions: a layer's own kernels for one device, in a plugin named "layer@device" after both types ("crf@cuda"). It
// is loaded only when a layer calls Prepare::kernel(), so that the layer itself needs no library of any device.
//
// An op of a companion for a device that computes on the host (ref, cpu) derives from HostOp (dlhost/host_op.h). For
// other devices it derives from Op and launches on Stream::native().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/kind.h>
#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost {

// A layer's request to its companion. Core does not interpret it.
struct KernelSpec {
  std::string name;                // "feature"
  std::vector<TensorDesc> in, out; // in the order of `run`; for format `any` the kernel chooses
  std::vector<double> numbers;     // values from the layer's options and piece
};

class DLHOST_API Kernels : public Plugin {
 public:
  static constexpr Kind kind = Kind::kernel;
  // Like Device::prepare, for a program of that device. Thread: the task that runs the program; if the device's library
  // has a current device, it is this one. The op must not need this object afterwards.
  virtual Result<std::unique_ptr<Op>> prepare(Device&, const KernelSpec&, const Choice&) = 0;
};

} // namespace dlhost
