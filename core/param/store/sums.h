// Sums that ops leave on a device, and the host reads.
#pragma once

#include <span>
#include <vector>

#include <dlhost/device.h>

namespace dlhost::param {

class Sums {
 public:
  Sums() = default;
  // Of so many results of an op, at most; f32 each.
  static Result<Sums> make(Device&, Stream&, std::size_t count);

  // Where an op is to write the first `count`.
  std::span<void* const> places(std::size_t count) const { return std::span(places_).first(count); }
  // These, when the stream has made them.
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
