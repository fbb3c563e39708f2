// Error feedback: the next encoding adds the error of this one (Seide et al. 2014).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <dlhost/codec.h>
#include <dlhost/schema.h>

#include "kernels.h"

namespace dlhost::plugins {

struct FeedbackOptions {
  bool feedback = true;
};

template <class Options> SchemaOf<Options> with_feedback(SchemaOf<Options> schema) {
  return schema.option("feedback", static_cast<bool Options::*>(&FeedbackOptions::feedback),
                       "the error of an exchange is added to the next");
}

// Elements are processed in pieces of this size: intermediate values stay in the first cache.
inline constexpr std::size_t piece = 1024;
template <class T> using Piece = std::array<T, piece>;

// The values to send in one exchange: the given ones plus the earlier error. Piece by piece, or one by one.
class Wanted {
 public:
  Wanted(std::span<const float> values, std::span<float> error) : values_(values), error_(error) {}
  std::size_t size() const { return values_.size(); }

  float operator[](std::size_t i) const { return error_.empty() ? values_[i] : values_[i] + error_[i]; }
  // Adds all values to the error and returns it; take() then takes out the elements that are sent unchanged.
  std::span<const float> keep() const {
    if (error_.empty()) return values_;
    codec_kernels().add(values_.data(), error_.data(), error_.data(), size());
    return error_;
  }
  float take(std::size_t i) const { return error_.empty() ? values_[i] : std::exchange(error_[i], 0.0F); }

  // At most a piece; computed into `room` if there is an error to add.
  std::span<const float> some(std::size_t first, std::size_t count, Piece<float>& room) const {
    if (error_.empty()) return values_.subspan(first, count);
    codec_kernels().add(&values_[first], &error_[first], room.data(), count);
    return std::span(room).first(count);
  }
  // The receiver gets `arrives` for `wanted`, from element `first` on: the difference becomes the error.
  void sent(std::size_t first, std::span<const float> wanted, const Piece<float>& arrives) const {
    if (!error_.empty()) codec_kernels().subtract(wanted.data(), arrives.data(), &error_[first], wanted.size());
  }

  // The largest absolute value of `count` elements; NaN if one is not finite.
  float greatest(std::size_t first, std::size_t count) const {
    Piece<float> room;
    float most = 0;
    for (std::size_t at = first, end = first + count; at < end && !std::isnan(most); at += piece) {
      const auto next = some(at, std::min(piece, end - at), room);
      const float greatest = codec_kernels().greatest(next.data(), next.size());
      most = greatest <= most ? most : greatest;
    }
    return most;
  }

 private:
  std::span<const float> values_;
  std::span<float> error_;
};

} // namespace dlhost::plugins
