// Windows that move over space: which elements of the big side a window of the small side covers. A convolution's x is
// the big side and y the small one; for a transposed convolution it is the reverse. One to three axes, stored as three.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost::plugins::ref {

struct Geometry {
  using Three = std::array<std::int64_t, 3>;
  Three big{1, 1, 1}, small{1, 1, 1}, window{1, 1, 1}, stride{1, 1, 1}, pad{0, 0, 0}, dilation{1, 1, 1};

  // `big` and `small`: shapes of whole tensors, [n, c, ...]. Errors: what does not fit.
  static Result<Geometry> make(std::string_view op, const Shape& big, const Shape& small,
                               std::span<const std::int64_t> window, std::span<const std::int64_t> stride,
                               std::span<const std::int64_t> pad_low, std::span<const std::int64_t> pad_high,
                               std::span<const std::int64_t> dilation);

  std::int64_t big_size() const { return big[0] * big[1] * big[2]; }
  std::int64_t small_size() const { return small[0] * small[1] * small[2]; }
  std::int64_t window_size() const { return window[0] * window[1] * window[2]; }

  // Calls visit(place in the big side, number in the window) for the elements of window `at` that are inside.
  template <class Visit> void each(std::int64_t at, Visit&& visit) const {
    const Three p{at / (small[1] * small[2]), at / small[2] % small[1], at % small[2]};
    Three k;
    for (k[0] = 0; k[0] < window[0]; ++k[0])
      for (k[1] = 0; k[1] < window[1]; ++k[1])
        for (k[2] = 0; k[2] < window[2]; ++k[2]) {
          std::int64_t place = 0, number = 0;
          bool inside = true;
          for (std::size_t d = 0; d < 3; ++d) {
            const std::int64_t x = p[d] * stride[d] - pad[d] + k[d] * dilation[d];
            inside = inside && x >= 0 && x < big[d];
            place = place * big[d] + x;
            number = number * window[d] + k[d];
          }
          if (inside) visit(place, number);
        }
  }
};

} // namespace dlhost::plugins::ref
