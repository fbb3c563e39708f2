#include "fold.h"

#include "divide.h"
#include "launch.h"
#include "vector.h"

namespace dlhost::plugins::cuda {

namespace {

// `width` channels of one place in the folded tensor.
template <class T, int width> struct Folded {
  const void* src;
  void* dst;
  Lie lie;
  Divider groups, channels, places[3], stride[3];
  std::int32_t big[3], pad[3], real_channels;

  Folded(const Fold& fold, const std::int64_t (&side)[3], const std::int64_t (&padding)[3],
         const std::int64_t (&made)[3], const void* src, const Lie& lie, void* dst)
      : src(src), dst(dst), lie(lie), groups(fold.folded_channels / width), channels(fold.channels),
        real_channels(static_cast<std::int32_t>(fold.channels * fold.stride[0] * fold.stride[1] * fold.stride[2])) {
    for (int d = 0; d < 3; ++d) {
      places[d] = Divider(made[d]);
      stride[d] = Divider(fold.stride[d]);
      big[d] = static_cast<std::int32_t>(side[d]);
      pad[d] = static_cast<std::int32_t>(padding[d]);
    }
  }
  DLHOST_BODY void operator()(std::int64_t i) const {
    auto rest = static_cast<std::int32_t>(i);
    const std::int32_t first = groups.last_digit(rest) * width;
    std::int32_t from[3];
    for (int d = 3; d-- > 0;) from[d] = places[d].last_digit(rest) * stride[d].by() - pad[d];
    Floats<width> values{};
    for (int w = 0; w < width; ++w) {
      std::int32_t number = first + w;
      if (number >= real_channels) continue;
      const std::int32_t c = channels.last_digit(number);
      std::int64_t place = 0, step = 1;
      bool inside = true;
      for (int d = 3; d-- > 0;) {
        const std::int32_t x = from[d] + stride[d].last_digit(number);
        inside = inside && x >= 0 && x < big[d];
        place += x * step;
        step *= big[d];
      }
      if (inside) values.at[w] = T::value(static_cast<const typename T::Bits*>(src)[lie.of(rest, c, place)]);
    }
    store_some<T, width>(dst, i * width, values);
  }
};

void fold_any(WorkStream& stream, const Fold& fold, DType type, std::int64_t count, const std::int64_t (&side)[3],
              const std::int64_t (&pad)[3], const std::int64_t (&made)[3], const void* from, const Lie& lie, void* to) {
  by_type_and_width<8>(type, fold.folded_channels, {to}, [&](auto kind, auto width) {
    constexpr int wide = decltype(width)::value;
    each(stream, count * made[0] * made[1] * made[2] * (fold.folded_channels / wide),
         Folded<decltype(kind), wide>{fold, side, pad, made, from, lie, to});
  });
}

struct Unfolded {
  Source src;
  Target dst;
  Lie lie;
  Fold fold;
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t c = 0, at = 0;
    const std::int64_t n = lie.take_apart(i, c, at);
    std::int64_t place = 0, step = 1, number = 0, digits = 1;
    for (int d = 3; d-- > 0;) {
      const std::int64_t x = last_digit(at, fold.window[d]), outer = quotient(x, fold.stride[d]);
      place += outer * step;
      step *= fold.folded_window[d];
      number += (x - outer * fold.stride[d]) * digits;
      digits *= fold.stride[d];
    }
    dst.set(i, src[(n * step + place) * fold.folded_channels + number * fold.channels + c]);
  }
};

} // namespace

std::int64_t channels_at_once(DType type) { return 16 / static_cast<std::int64_t>(size_of(type)); }

Fold::Fold(const Geometry& geometry, std::int64_t channels, DType type) : channels(channels) {
  std::int64_t all = channels;
  for (int d = 0; d < 3; ++d) {
    big[d] = geometry.big[d];
    pad[d] = geometry.pad[d];
    stride[d] = geometry.stride[d];
    window[d] = geometry.window[d];
    folded_window[d] = (window[d] + stride[d] - 1) / stride[d];
    places[d] = geometry.small[d] + folded_window[d] - 1;
    all *= stride[d];
  }
  const std::int64_t unit = channels_at_once(type);
  folded_channels = (all + unit - 1) / unit * unit;
}

void fold_input(WorkStream& stream, const Fold& fold, DType type, std::int64_t samples, const void* from,
                const Lie& lie, void* to) {
  fold_any(stream, fold, type, samples, fold.big, fold.pad, fold.places, from, lie, to);
}

void fold_weights(WorkStream& stream, const Fold& fold, DType type, std::int64_t filters, const void* from,
                  const Lie& lie, void* to) {
  constexpr std::int64_t none[3] = {0, 0, 0};
  fold_any(stream, fold, type, filters, fold.window, none, fold.folded_window, from, lie, to);
}

void unfold_weights(WorkStream& stream, const Fold& fold, std::int64_t filters, const Source& from, const Lie& lie,
                    const Target& to) {
  each(stream, filters * lie.channels * lie.places, Unfolded{from, to, lie, fold});
}

} // namespace dlhost::plugins::cuda
