// Windows that move over space: which elements of the big side a window of the small side covers. A convolution's x is
// the big side and y the small one; for a transposed convolution it is the reverse. One to three axes, stored as three.
#pragma once

#include <span>
#include <string_view>

#include <dlhost/status.h>

#include "body.h"
#include "format.h"

namespace dlhost::plugins::cuda {

// The layout of [n, c, space...], with space as one axis.
struct Lie {
  std::int64_t channels = 1, places = 1;
  bool last = false; // channels last
  DLHOST_BODY std::int64_t of(std::int64_t n, std::int64_t c, std::int64_t at) const {
    return last ? (n * places + at) * channels + c : (n * channels + c) * places + at;
  }
  // The inverse of `of`; returns n.
  DLHOST_BODY std::int64_t take_apart(std::int64_t i, std::int64_t& c, std::int64_t& at) const {
    std::int64_t& inner = last ? c : at;
    std::int64_t& outer = last ? at : c;
    inner = last_digit(i, last ? channels : places);
    outer = last_digit(i, last ? places : channels);
    return i;
  }
};

inline Lie lie_of(const TensorDesc& desc) { return {desc.shape[1], desc.shape.past(2), desc.format == channels_last}; }

// Places from `first` to before `last`, on each axis.
struct Places {
  std::int64_t first[3], last[3];
  DLHOST_BODY std::int64_t size() const { return (last[0] - first[0]) * (last[1] - first[1]) * (last[2] - first[2]); }
};

struct Geometry {
  std::int64_t big[3] = {1, 1, 1}, small[3] = {1, 1, 1}, window[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1}, pad[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  // `x` and `y`: shapes of whole tensors, [n, c, ...]. Errors: what does not fit.
  static Result<Geometry> make(std::string_view op, const Shape& x, const Shape& y,
                               std::span<const std::int64_t> window, std::span<const std::int64_t> stride,
                               std::span<const std::int64_t> pad_low, std::span<const std::int64_t> pad_high,
                               std::span<const std::int64_t> dilation);

  DLHOST_BODY std::int64_t big_size() const { return big[0] * big[1] * big[2]; }
  DLHOST_BODY std::int64_t small_size() const { return small[0] * small[1] * small[2]; }
  DLHOST_BODY std::int64_t window_size() const { return window[0] * window[1] * window[2]; }

  // The place in the big side of element `number` of the window at `at`; -1: in the padding.
  DLHOST_BODY std::int64_t covered(std::int64_t at, std::int64_t number) const {
    std::int64_t place = 0, step = 1;
    for (int d = 3; d-- > 0;) {
      const std::int64_t p = last_digit(at, small[d]), k = last_digit(number, window[d]);
      const std::int64_t x = p * stride[d] - pad[d] + k * dilation[d];
      if (x < 0 || x >= big[d]) return -1;
      place += x * step;
      step *= big[d];
    }
    return place;
  }
  // The window that covers place `at` of the big side with its element `number`; -1: none.
  DLHOST_BODY std::int64_t covering(std::int64_t at, std::int64_t number) const {
    std::int64_t place = 0, step = 1;
    for (int d = 3; d-- > 0;) {
      const std::int64_t x = last_digit(at, big[d]), k = last_digit(number, window[d]);
      const std::int64_t from = x + pad[d] - k * dilation[d];
      if (from < 0) return -1;
      const std::int64_t p = quotient(from, stride[d]);
      if (p * stride[d] != from || p >= small[d]) return -1;
      place += p * step;
      step *= small[d];
    }
    return place;
  }

  // For windows without gaps (dilation 1): the places of the big side that the window at `at` covers, and the windows
  // that cover place `at` of the big side.
  DLHOST_BODY Places places_covered(std::int64_t at) const {
    Places these;
    for (int d = 3; d-- > 0;) {
      const std::int64_t from = last_digit(at, small[d]) * stride[d] - pad[d], to = from + window[d];
      these.first[d] = from < 0 ? 0 : from;
      these.last[d] = to < big[d] ? to : big[d];
    }
    return these;
  }
  DLHOST_BODY Places places_covering(std::int64_t at) const {
    Places these;
    for (int d = 3; d-- > 0;) {
      const std::int64_t x = last_digit(at, big[d]) + pad[d], before = x - window[d]; // the last element to its left
      const std::int64_t to = quotient(x, stride[d]) + 1;
      these.first[d] = before < 0 ? 0 : quotient(before, stride[d]) + 1;
      these.last[d] = to < small[d] ? to : small[d];
    }
    return these;
  }
};

} // namespace dlhost::plugins::cuda
