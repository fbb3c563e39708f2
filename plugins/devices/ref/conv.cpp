#include "geometry.h"
#include "linear.h"
#include "make.h"

namespace dlhost::plugins::ref {

namespace {

// w[small channel, big channel of its group, window...]: the same for both directions.
struct Windows {
  Geometry geometry;
  std::int64_t groups, small_channels, big_channels; // channels of a group
  bool transposed;                                   // x is the small side

  template <class Visit> void each(std::int64_t first, std::int64_t last, Visit&& visit) const {
    const std::int64_t big_size = geometry.big_size(), small_size = geometry.small_size();
    for (std::int64_t n = first; n < last; ++n)
      for (std::int64_t s = 0; s < groups * small_channels; ++s)
        for (std::int64_t b = 0; b < big_channels; ++b) {
          const std::int64_t group = s / small_channels;
          const std::int64_t big = ((n * groups + group) * big_channels + b) * big_size;
          const std::int64_t small = (n * groups * small_channels + s) * small_size;
          const std::int64_t weight = (s * big_channels + b) * geometry.window_size();
          for (std::int64_t at = 0; at < small_size; ++at)
            geometry.each(at, [&](std::int64_t place, std::int64_t number) {
              if (transposed)
                visit(small + at, weight + number, big + place);
              else
                visit(big + place, weight + number, small + at);
            });
        }
  }
};

Result<Windows> windows_of(const ConvSpec& spec) {
  const Shape &x = spec.x.shape, &w = spec.w.shape, &y = spec.y.shape, &b = spec.b.shape;
  const Shape &big = spec.transposed ? y : x, &small = spec.transposed ? x : y;
  const bool fits = x.rank() == y.rank() && w.rank() == x.rank() && x.rank() >= 3 && x[0] == y[0] && spec.groups > 0 &&
                    big[1] % spec.groups == 0 && small[1] % spec.groups == 0 && w[0] == small[1] &&
                    w[1] == big[1] / spec.groups && (b.rank() == 0 || b == Shape{y[1]});
  if (!fits)
    return Status::invalid("conv: x ", to_string(x), ", w ", to_string(w), ", b ", to_string(b), " and y ",
                           to_string(y), " do not fit with ", spec.groups, " groups",
                           spec.transposed ? ", transposed" : "");
  const std::span<const std::int64_t> window(w.begin() + 2, w.end());
  DLHOST_ASSIGN(const auto geometry,
                Geometry::make("conv", big, small, window, spec.stride, spec.pad_low, spec.pad_high, spec.dilation));
  return Windows{geometry, spec.groups, small[1] / spec.groups, big[1] / spec.groups, spec.transposed};
}

template <class T> class Conv : public Linear<T, ConvSpec, Windows> {
 public:
  Conv(const ConvSpec& spec, const Manner& manner, const Choice& choice)
      : Linear<T, ConvSpec, Windows>(spec, *windows_of(spec), manner, choice) {}
};

} // namespace

MadeOp make_op(const ConvSpec& spec, const Manner& manner, const Choice& choice) {
  DLHOST_ASSIGN(const auto windows, windows_of(spec));
  auto op = in_its_type<Conv>(spec, manner, choice);
  op->operations = 2.0 * static_cast<double>(spec.x.shape[0] * spec.w.count() * windows.geometry.small_size());
  return op;
}

} // namespace dlhost::plugins::ref
