#include "pad.h"

#include "launch.h"
#include "vector.h"

namespace dlhost::plugins::cuda {

namespace {

template <class T, int width> struct PadPlace {
  const void* src;
  void* dst;
  Lie lie;
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t n = i;
    const std::int64_t at = last_digit(n, lie.places);
    const auto* from = static_cast<const typename T::Bits*>(src);
    Floats<width> values{};
    for (int c = 0; c < width; ++c)
      if (c < lie.channels) values.at[c] = T::value(from[lie.of(n, c, at)]);
    store_some<T, width>(dst, i * width, values);
  }
};

struct Unpadded {
  Source src;
  Target dst;
  Lie lie, padded;
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t c = 0, at = 0;
    const std::int64_t n = lie.take_apart(i, c, at);
    dst.set(i, src[padded.of(n, c, at)]);
  }
};

} // namespace

std::int64_t channels_at_once(DType type) { return 16 / static_cast<std::int64_t>(size_of(type)); }

void pad_channels(WorkStream& stream, DType type, std::int64_t count, const void* from, const Lie& lie, void* to) {
  by_type_and_width(type, channels_at_once(type), {}, [&](auto kind, auto width) {
    each(stream, count * lie.places, PadPlace<decltype(kind), decltype(width)::value>{from, to, lie});
  });
}

void unpad_channels(WorkStream& stream, std::int64_t count, const Source& from, const Lie& lie, const Target& to) {
  const Lie padded{channels_at_once(from.type), lie.places, true};
  each(stream, count * lie.channels * lie.places, Unpadded{from, to, lie, padded});
}

} // namespace dlhost::plugins::cuda
