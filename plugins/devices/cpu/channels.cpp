#include "channels.h"

#include <algorithm>

#include <dlhost/parallel.h>

#include "channel_kernels.h"
#include "map/kernels.h"

namespace dlhost::plugins::cpu {

Result<Channels> Channels::of(const TensorDesc& desc, std::int64_t widest) {
  Channels made;
  const auto rank = desc.shape.rank();
  if (rank < 2) return Status::invalid("a tensor of ", to_string(desc.shape), " has no channels");
  if (desc.dtype != DType::f32 && desc.dtype != DType::bf16 && desc.dtype != DType::f16)
    return Status::unsupported("channels are computed in f32, bf16 and f16, not in ", name_of(desc.dtype));
  made.samples_ = desc.shape[0];
  made.channels_ = made.padded_ = desc.shape[1];
  made.spatial_ = desc.shape.past(2);
  const auto name = name_of_format(desc);
  const auto rest = std::string("cdefgh").substr(0, rank - 2);
  if (rank == 2 && name == "plain") {
    made.width_ = made.channels_;
  } else if (name == "plain") {
    made.width_ = 1;
  } else if (name == "a" + rest + "b") {
    made.width_ = made.channels_;
  } else if (const auto start = "aB" + rest; name == start + "16b" || name == start + "8b" || name == start + "4b") {
    made.width_ = name.ends_with("16b") ? 16 : name.ends_with("8b") ? 8 : 4;
    made.padded_ = (made.channels_ + made.width_ - 1) / made.width_ * made.width_;
  } else {
    return Status::unsupported("format '", name, "' has a channel layout that loops by channel do not support");
  }
  made.packed_ = made.width_ < group && group % made.width_ == 0;
  if (made.width_ > group) made.columns_ = widest;
  made.sample_step_ = made.padded_ * made.spatial_;
  return made;
}

void Channels::read_first(DType type, const void* data, std::int64_t sample, std::int64_t which, float* numbers) const {
  std::fill_n(numbers, columns(), 0.0F);
  bool taken = false;
  each_piece(sample, which, [&](const Piece& p) {
    if (taken) return;
    taken = true;
    const auto* from = static_cast<const std::byte*>(data) + p.offset * static_cast<std::int64_t>(size_of(type));
    const auto first = std::min(lanes(), p.width);
    map_kernels().load(type, from, numbers, first);
    for (auto i = first; i < columns(); ++i) numbers[i] = numbers[i % lanes()];
  });
}

void Channels::add(DType type, void* data, const float* values) const {
  parallel_ranges(samples_ * groups(), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto task = first; task < last; ++task) {
      const auto which = task % groups();
      float ones[group], shifts[group] = {};
      std::fill_n(ones, group, 1.0F);
      for (std::int64_t i = 0; i < group; ++i)
        if (const auto channel = channel_of(which, i); channel < channels_) shifts[i] = values[channel];
      each_piece(task / groups(), which, [&](const Piece& piece) {
        channel_kernels().apply(type, {data, nullptr, data, piece.offset, piece.rows, piece.step, piece.width}, ones,
                                shifts, false);
      });
    }
  });
}

void Channels::sum(DType type, const void* data, float* sums) const {
  parallel_ranges(groups(), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto which = first; which < last; ++which) {
      const float pivots[group] = {};
      double totals[group] = {}, squares[group] = {};
      for (std::int64_t sample = 0; sample < samples_; ++sample)
        each_piece(sample, which, [&](const Piece& piece) {
          channel_kernels().moments(type, {data, nullptr, nullptr, piece.offset, piece.rows, piece.step, piece.width},
                                    pivots, totals, squares);
        });
      fold(totals);
      for (std::int64_t i = 0; i < lanes(); ++i)
        if (const auto channel = channel_of(which, i); channel < channels_)
          sums[channel] = static_cast<float>(totals[i]);
    }
  });
}

} // namespace dlhost::plugins::cpu
