// A tensor by channel, in any format with channels last, in blocks, or before the image: for loops that treat all
// elements of a channel alike. Made while an op is prepared. Thread: the worker's threads during a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <dlhost/status.h>
#include <dlhost/tensor.h>

#include "formats.h"

namespace dlhost::plugins::cpu {

// Loops work on neighbouring columns in vectors: 16 columns, each of one channel, or up to 64 if a row has more
// channels and the loop can take them: whole cache lines in every dtype. If fewer channels are neighbours and their
// number divides 16 (one channel, or blocks of 8 as without AVX-512), a row of columns holds several pixels one after
// the other.
inline constexpr std::int64_t group = 16;
inline constexpr std::int64_t wide_group = 64;

class Channels {
 public:
  // Memory whose rows are `step` elements apart and `width` wide. Column i belongs to channel channel_of(which, i).
  struct Piece {
    std::int64_t offset, rows, step, width;
  };

  // `widest`: the largest group that the caller can take.
  static Result<Channels> of(const TensorDesc&, std::int64_t widest = group);

  std::int64_t samples() const { return samples_; }
  std::int64_t channels() const { return channels_; }
  std::int64_t per_sample() const { return spatial_; } // elements of one channel
  std::int64_t columns() const { return columns_; }
  // Channels in a group: column i and column i + lanes() have the same channel.
  std::int64_t lanes() const { return packed_ ? width_ : columns_; }
  std::int64_t groups() const { return (channels_ + lanes() - 1) / lanes(); }
  // May be past the last channel, in padding.
  std::int64_t channel_of(std::int64_t which, std::int64_t column) const { return which * lanes() + column % lanes(); }

  // Calls call(piece) for all memory of group `which` in a sample: one piece, or two with the rest of a row.
  template <class Call> void each_piece(std::int64_t sample, std::int64_t which, Call&& call) const {
    const auto start = sample * sample_step_ + start_of(which);
    if (!packed_) {
      call(Piece{start, spatial_, width_, side_by_side(which)});
      return;
    }
    const auto elements = spatial_ * width_, rows = elements / group;
    if (rows > 0) call(Piece{start, rows, group, group});
    if (elements % group > 0) call(Piece{start + rows * group, 1, group, elements % group});
  }

  // Calls call(offset in the sample, number, neighbouring channels) for each pixel of a group.
  template <class Call> void each_pixel(std::int64_t which, Call&& call) const {
    for (std::int64_t pixel = 0; pixel < spatial_; ++pixel)
      call(start_of(which) + pixel * width_, pixel, side_by_side(which));
  }

  // Reads each column's first element of a sample into `columns()` numbers: a pivot. Distances from it are summed, so
  // that their squares keep their precision.
  void read_first(DType, const void* data, std::int64_t sample, std::int64_t which, float* numbers) const;

  // Replaces each column's number by the sum over the columns of its channel.
  void fold(double* numbers) const {
    if (!packed_) return;
    for (std::int64_t i = lanes(); i < group; ++i) numbers[i % lanes()] += numbers[i];
    for (std::int64_t i = lanes(); i < group; ++i) numbers[i] = numbers[i % lanes()];
  }

  // data[n, c, ...] += values[c]; sums[c] = sum of data[:, c, ...].
  void add(DType, void* data, const float* values) const;
  void sum(DType, const void* data, float* sums) const;

 private:
  std::int64_t start_of(std::int64_t which) const {
    const auto channel = channel_of(which, 0);
    return channel / width_ * spatial_ * width_ + channel % width_;
  }
  std::int64_t side_by_side(std::int64_t which) const {
    return std::min({lanes(), padded_ - channel_of(which, 0), width_});
  }

  std::int64_t samples_ = 0, channels_ = 0, padded_ = 0, spatial_ = 1;
  std::int64_t width_ = 1; // neighbouring channels
  std::int64_t columns_ = group;
  bool packed_ = false; // rows hold several pixels
  std::int64_t sample_step_ = 0;
};

} // namespace dlhost::plugins::cpu
