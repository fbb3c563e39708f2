// Local response normalisation over contiguous channels, in windows of 2 reach + 1. A thread computes `width` channels
// from its neighbourhood and shares their intermediate results, so each tensor moves once.
#pragma once

#include "vector.h"

namespace dlhost::plugins::cuda {

struct Strength {
  float alpha, beta, k;
  DLHOST_BODY float base(float squares, std::int64_t elements) const {
    return k + alpha / static_cast<float>(elements) * squares;
  }
  DLHOST_BODY float power(float base) const {
#if defined(__CUDA_ARCH__)
    return exp2f(-beta * log2f(base)); // bases are positive: pow's special cases would take longer than the memory
#else
    return std::pow(base, -beta);
#endif
  }
  // The factor of x in the derivative of a power of its window.
  DLHOST_BODY float factor(std::int64_t elements) const { return 2 * alpha * beta / static_cast<float>(elements); }
};

template <class T, int width_, int reach_> struct LrnColumns {
  static constexpr int width = width_, reach = reach_, window = 2 * reach + 1;
  static constexpr int around = (2 * reach + width - 1) / width; // groups of `width` channels on each side
  static constexpr int first = around * width, seen = 2 * first + width;

  std::int64_t groups; // in a row
  Strength strength;
  const void* x;

  struct Place {
    std::int64_t row, group;
  };
  DLHOST_BODY Place place(std::int64_t item) const {
    const std::int64_t row = quotient(item, groups);
    return {row, item - row * groups};
  }
  // Is a channel of the neighbourhood inside the row?
  DLHOST_BODY bool exists(const Place& at, int channel) const {
    const std::int64_t group = at.group + channel / width - around;
    return group >= 0 && group < groups;
  }
  // The neighbourhood of a place; zeros outside the row.
  struct Channels {
    float at[seen];
  };
  DLHOST_BODY Channels around_place(const void* from, const Place& at) const {
    Together<typename T::Bits, width> read[seen / width] = {};
    DLHOST_UNROLL
    for (int g = 0; g < seen / width; ++g) {
      const std::int64_t group = at.group + g - around;
      if (group >= 0 && group < groups) read[g] = read_some<T, width>(from, (at.row * groups + group) * width);
    }
    Channels values;
    DLHOST_UNROLL
    for (int i = 0; i < seen; ++i) values.at[i] = T::value(read[i / width].at[i % width]);
    return values;
  }
  DLHOST_BODY float base(const Channels& near, int channel) const {
    float squares = 0;
    DLHOST_UNROLL
    for (int k = -reach; k <= reach; ++k) squares += near.at[channel + k] * near.at[channel + k];
    return strength.base(squares, window);
  }
};

template <class T, int width, int reach> struct LrnFeatureColumns {
  using All = LrnColumns<T, width, reach>;
  All all;
  void* y;
  DLHOST_BODY void operator()(std::int64_t item) const {
    const auto x = all.around_place(all.x, all.place(item));
    Floats<width> made;
    DLHOST_UNROLL
    for (int w = 0; w < width; ++w) made.at[w] = x.at[All::first + w] * all.strength.power(all.base(x, All::first + w));
    store_some<T, width>(y, item * width, made);
  }
};

template <class T, int width, int reach> struct LrnGradientColumns {
  using All = LrnColumns<T, width, reach>;
  All all;
  const void* dy;
  void* dx;
  DLHOST_BODY void operator()(std::int64_t item) const {
    const auto place = all.place(item);
    const auto x = all.around_place(all.x, place), dy_near = all.around_place(dy, place);
    const float factor = all.strength.factor(All::window);
    // The factors of an element's dy in the gradient of its window, and of itself.
    float through[width + 2 * reach], own[width];
    DLHOST_UNROLL
    for (int i = 0; i < width + 2 * reach; ++i) {
      const int channel = All::first - reach + i;
      const float base = all.base(x, channel), power = all.strength.power(base);
      through[i] = all.exists(place, channel) ? factor * dy_near.at[channel] * x.at[channel] * power / base : 0.0F;
      if (i >= reach && i < width + reach) own[i - reach] = dy_near.at[channel] * power;
    }
    Floats<width> made;
    DLHOST_UNROLL
    for (int w = 0; w < width; ++w) {
      float sum = 0;
      DLHOST_UNROLL
      for (int k = 0; k < All::window; ++k) sum += through[w + k];
      made.at[w] = own[w] - sum * x.at[All::first + w];
    }
    store_some<T, width>(dx, item * width, made);
  }
};

} // namespace dlhost::plugins::cuda
