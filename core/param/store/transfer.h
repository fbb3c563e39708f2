// Tensors between the host (plain f32) and a device (as they lie there). For start-up, checkpoints and export, never
// for the step loop: upload() and download() prepare ops and allocate.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <dlhost/device.h>

namespace dlhost::param {

// From one form to another, prepared once.
class Conversion {
 public:
  static Result<Conversion> make(Device&, Stream&, const TensorDesc& from, const TensorDesc& to);
  // Waits for it.
  Status run(const void* from, void* to);

 private:
  Stream* stream_ = nullptr;
  std::unique_ptr<Op> op_;
  Memory scratch_;
};

Status upload(Device&, Stream&, std::span<const float> plain, const TensorDesc&, void* data);
Result<std::vector<float>> download(Device&, Stream&, const TensorDesc&, const void* data);

} // namespace dlhost::param
