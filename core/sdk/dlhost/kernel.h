// Companions: a layer's own kernels for one device, in a plugin named after the types of both, "layer@device"
// ("crf@cuda"). It is loaded when a layer asks Prepare::kernel() for one of them, and not before: so the layer itself
// needs no library of any device.
//
// An op of a companion for a device that computes on the host (ref, cpu) derives from HostOp (dlhost/host_op.h). One
// for another device derives from Op and launches on Stream::native().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/kind.h>
#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost {

// What a layer asks its companion for: words that only these two need to understand.
struct KernelSpec {
  std::string name;                // "feature"
  std::vector<TensorDesc> in, out; // in the order of `run`; where the format is `any`, the kernel chooses
  std::vector<double> numbers;     // what its options and its piece come to
};

class DLHOST_API Kernels : public Plugin {
 public:
  static constexpr Kind kind = Kind::kernel;
  // As Device::prepare, for one of that device's programs, on the task that runs it: where the device's library knows a
  // current device, it is this one. The op must not need this object afterwards.
  virtual Result<std::unique_ptr<Op>> prepare(Device&, const KernelSpec&, const Choice&) = 0;
};

} // namespace dlhost
