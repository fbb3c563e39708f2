// The augmentations of a source, one after another: what happens to a sample of its output 0 on the way into a batch.
// Made with the net, because it decides the shape that the net sees; applied by the feeder's readers, from any task.
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
  // `sample`: the source's output 0, without the batch axis. Messages name the augmentation and its number.
  static Result<Augment> make(Host&, std::span<const Part>, const TensorDesc& sample);

  bool empty() const { return steps_.empty(); }
  // A sample after all of them.
  const TensorDesc& result() const { return result_; }
  // Memory that apply needs beside its arguments: for the sample as the source gives it, and what lies between.
  std::size_t source_bytes() const { return source_bytes_; }
  std::size_t scratch_bytes() const { return 2 * between_bytes_; }
  // Not for an empty chain.
  void apply(const std::byte* src, std::byte* dst, std::byte* scratch, bool training, Random&) const;

 private:
  std::vector<std::unique_ptr<Augmentation>> steps_;
  TensorDesc result_;
  std::size_t source_bytes_ = 0;
  std::size_t between_bytes_ = 0; // the largest sample between two of them
};

} // namespace dlhost::net
