// The augmentations of a source, applied in order to each sample of its output 0. Made with the net, because they
// decide the shape that the net gets. The feeder's readers apply them. Thread: any.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/parts.h>

namespace dlhost::net {

class Augment {
 public:
  Augment() = default;
  // `sample`: the source's output 0, without the batch axis. Errors name the augmentation and its number.
  static Result<Augment> make(Host&, std::span<const Part>, const TensorDesc& sample);

  bool empty() const { return steps_.empty(); }
  // A sample after all augmentations.
  const TensorDesc& result() const { return result_; }
  // Memory that apply() needs beside its arguments: for the source's sample, and for samples between augmentations.
  std::size_t source_bytes() const { return source_bytes_; }
  std::size_t scratch_bytes() const { return 2 * between_bytes_; }
  // Requires: the chain is not empty.
  void apply(const std::byte* src, std::byte* dst, std::byte* scratch, bool training, Random&) const;

 private:
  std::vector<std::unique_ptr<Augmentation>> steps_;
  TensorDesc result_;
  std::size_t source_bytes_ = 0;
  std::size_t between_bytes_ = 0; // the largest sample between two augmentations
};

} // namespace dlhost::net
