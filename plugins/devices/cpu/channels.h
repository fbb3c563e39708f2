// Tensors seen by channel, in any of the formats that put channels last, in blocks, or before the image: for the loops
// that do to all elements of a channel the same. Made while an op is prepared; run() calls go to the worker's threads.
#pragma once

#include <cstdint>
#include <span>

#include <dlhost/status.h>
#include <dlhost/tensor.h>

#include "formats.h"

namespace dlhost::plugins::cpu {

// Loops work on groups of channels, side by side in vectors: of so many, or, where a row holds more of them and the
// loop can take them, of so many: whole cache lines, whatever the dtype.
inline constexpr std::int64_t group = 16;
inline constexpr std::int64_t wide_group = 64;

class Channels {
 public:
  // A piece of memory whose rows are `step` elements apart and `width` wide. Where `shared`, all its elements belong
  // to one channel; else column i belongs to channel `channel` + i.
  struct Piece {
    std::int64_t offset, rows, step, width;
  };

  // `widest`: of the groups that the caller can take.
  static Result<Channels> of(const TensorDesc&, std::int64_t widest = group);

  std::int64_t samples() const { return samples_; }
  std::int64_t channels() const { return channels_; }
  std::int64_t per_sample() const { return spatial_; } // elements of one channel
  // Whether a group is one channel, whose elements lie in a row.
  bool shared() const { return width_ == 1; }
  std::int64_t in_group() const { return group_; }
  std::int64_t groups() const { return width_ == 1 ? channels_ : (channels_ + group_ - 1) / group_; }
  std::int64_t first_channel(std::int64_t which) const { return width_ == 1 ? which : which * group_; }

  // call(piece) for all that group `which` has of a sample: one piece, or a second for the rest of a row.
  template <class Call> void each_piece(std::int64_t sample, std::int64_t which, Call&& call) const {
    if (shared()) {
      const auto start = sample * sample_step_ + which * spatial_;
      const auto rows = spatial_ / group;
      if (rows > 0) call(Piece{start, rows, group, group});
      if (spatial_ % group > 0) call(Piece{start + rows * group, 1, group, spatial_ % group});
      return;
    }
    const auto channel = which * group_;
    const auto start = sample * sample_step_ + channel / width_ * spatial_ * width_ + channel % width_;
    call(Piece{start, spatial_, width_, std::min(group_, std::min(padded_ - channel, width_))});
  }

  // data[n, c, ...] += values[c]; sums[c] = sum of data[:, c, ...].
  void add(DType, void* data, const float* values) const;
  void sum(DType, const void* data, float* sums) const;

 private:
  std::int64_t samples_ = 0, channels_ = 0, padded_ = 0, spatial_ = 1;
  std::int64_t width_ = 1; // channels that lie side by side
  std::int64_t group_ = group;
  std::int64_t sample_step_ = 0;
};

} // namespace dlhost::plugins::cpu
