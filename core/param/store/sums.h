// Sums that ops write on a device and the host reads.
#pragma once

#include <span>
#include <vector>

#include <dlhost/device.h>

namespace dlhost::param {

class Sums {
 public:
  Sums() = default;
  // For up to `count` f32 results of an op.
  static Result<Sums> make(Device&, Stream&, std::size_t count);

  // Addresses for the first `count` results.
  std::span<void* const> places(std::size_t count) const { return std::span(places_).first(count); }
  // Waits for the stream and reads the first `count` results.
  Result<std::span<const double>> read(std::size_t count);

 private:
  Device* device_ = nullptr;
  Stream* stream_ = nullptr;
  Memory memory_;
  std::vector<void*> places_;
  std::vector<float> read_;
  std::vector<double> values_;
};

} // namespace dlhost::param
