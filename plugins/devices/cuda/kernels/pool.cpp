// Pooling. Own kernels, since the contract fixes which of equal maxima gets the gradient; cuDNN does not. The workspace
// of max has, for each element of y, the place of its maximum in the channel of x. Gradients are gathered by element of
// x, so no two threads add to one element.
#include "divide.h"
#include "geometry.h"
#include "launch.h"
#include "number.h"
#include "prepare.h"
#include "vector.h"

namespace dlhost::plugins::cuda {

namespace {

struct Pooling {
  Geometry geometry;
  bool max, count_padding;
  std::int64_t counted_end[3]; // of the counted padding

  // The share of each element in the window at `at`, which covers `these`.
  DLHOST_BODY float share(std::int64_t at, const Places& these) const {
    return 1.0F / static_cast<float>(count_padding ? counted(at) : these.size());
  }
  DLHOST_BODY std::int64_t counted(std::int64_t at) const {
    std::int64_t elements = 1;
    for (int d = 3; d-- > 0;) {
      const std::int64_t first = last_digit(at, geometry.small[d]) * geometry.stride[d] - geometry.pad[d];
      const std::int64_t up_to_end = counted_end[d] - first;
      elements *= geometry.window[d] < up_to_end ? geometry.window[d] : up_to_end;
    }
    return elements;
  }
};

struct PoolFeature {
  Pooling pool;
  Source x;
  Target y;
  std::int32_t* largest; // null: not stored
  DLHOST_BODY void operator()(std::int64_t i) const {
    const Geometry& geometry = pool.geometry;
    const std::int64_t channel = quotient(i, geometry.small_size());
    const std::int64_t at = i - channel * geometry.small_size(), start = channel * geometry.big_size();
    const Places these = geometry.places_covered(at);
    float sum = 0, most = 0;
    std::int64_t best = -1;
    for (std::int64_t a = these.first[0]; a < these.last[0]; ++a)
      for (std::int64_t b = these.first[1]; b < these.last[1]; ++b)
        for (std::int64_t c = these.first[2]; c < these.last[2]; ++c) {
          const std::int64_t place = (a * geometry.big[1] + b) * geometry.big[2] + c;
          const float value = x[start + place];
          sum += value;
          if (best >= 0 && !(value > most) && value == value) continue;
          best = place;
          most = value;
        }
    y.set(i, pool.max ? most : sum * pool.share(at, these));
    if (largest) largest[i] = static_cast<std::int32_t>(best);
  }
};

struct PoolGradient {
  Pooling pool;
  Source dy;
  Target dx;
  const std::int32_t* largest; // of max
  DLHOST_BODY void operator()(std::int64_t i) const {
    const Geometry& geometry = pool.geometry;
    const std::int64_t channel = quotient(i, geometry.big_size());
    const std::int64_t place = i - channel * geometry.big_size(), start = channel * geometry.small_size();
    const Places these = geometry.places_covering(place);
    float sum = 0;
    for (std::int64_t a = these.first[0]; a < these.last[0]; ++a) // windows in fixed order
      for (std::int64_t b = these.first[1]; b < these.last[1]; ++b)
        for (std::int64_t c = these.first[2]; c < these.last[2]; ++c) {
          const std::int64_t at = (a * geometry.small[1] + b) * geometry.small[2] + c;
          if (!pool.max)
            sum += dy[start + at] * pool.share(at, geometry.places_covered(at));
          else if (largest[start + at] == place)
            sum += dy[start + at];
        }
    dx.set(i, sum);
  }
};

// Channels last: `width` channels of one place share the index arithmetic.
struct PlacesOf {
  std::int32_t first[3], last[3];
  DLHOST_BODY std::int32_t size() const { return (last[0] - first[0]) * (last[1] - first[1]) * (last[2] - first[2]); }
};

struct ColumnPooling {
  std::int64_t channels;
  Divider groups, big[3], small[3], stride[3]; // groups of channels
  std::int32_t pad[3], window[3], counted_end[3];
  bool max, count_padding;

  ColumnPooling(const Pooling& pool, std::int64_t channels, int width)
      : channels(channels), groups(channels / width), max(pool.max), count_padding(pool.count_padding) {
    for (int d = 0; d < 3; ++d) {
      big[d] = Divider(pool.geometry.big[d]);
      small[d] = Divider(pool.geometry.small[d]);
      stride[d] = Divider(pool.geometry.stride[d]);
      pad[d] = static_cast<std::int32_t>(pool.geometry.pad[d]);
      window[d] = static_cast<std::int32_t>(pool.geometry.window[d]);
      counted_end[d] = static_cast<std::int32_t>(pool.counted_end[d]);
    }
  }
  // The index of the first of the channels at this place; `places`: the sizes of its side.
  DLHOST_BODY std::int64_t element(std::int32_t n, std::int32_t a, std::int32_t b, std::int32_t c,
                                   const Divider (&places)[3], std::int32_t channel) const {
    const std::int64_t place = ((std::int64_t{n} * places[0].by() + a) * places[1].by() + b) * places[2].by() + c;
    return place * channels + channel;
  }
  DLHOST_BODY std::int32_t number(std::int32_t a, std::int32_t b, std::int32_t c) const { // in a channel of x
    return (a * big[1].by() + b) * big[2].by() + c;
  }
  DLHOST_BODY PlacesOf covered(const std::int32_t (&at)[3]) const {
    PlacesOf these;
    for (int d = 0; d < 3; ++d) {
      const std::int32_t from = at[d] * stride[d].by() - pad[d], to = from + window[d];
      these.first[d] = from < 0 ? 0 : from;
      these.last[d] = to < big[d].by() ? to : big[d].by();
    }
    return these;
  }
  DLHOST_BODY PlacesOf covering(const std::int32_t (&place)[3]) const {
    PlacesOf these;
    for (int d = 0; d < 3; ++d) {
      const std::int32_t x = place[d] + pad[d], before = x - window[d], to = stride[d](x) + 1;
      these.first[d] = before < 0 ? 0 : stride[d](before) + 1;
      these.last[d] = to < small[d].by() ? to : small[d].by();
    }
    return these;
  }
  DLHOST_BODY float share(const std::int32_t (&at)[3], const PlacesOf& these) const {
    return 1.0F / static_cast<float>(count_padding ? counted(at) : these.size());
  }
  DLHOST_BODY std::int32_t counted(const std::int32_t (&at)[3]) const {
    std::int32_t elements = 1;
    for (int d = 0; d < 3; ++d) {
      const std::int32_t up_to_end = counted_end[d] - (at[d] * stride[d].by() - pad[d]);
      elements *= window[d] < up_to_end ? window[d] : up_to_end;
    }
    return elements;
  }
  // Splits an item into its place and its first channel; returns the sample.
  DLHOST_BODY std::int32_t take_apart(std::int64_t item, const Divider (&places)[3], int width,
                                      std::int32_t (&place)[3], std::int32_t& channel) const {
    auto rest = static_cast<std::int32_t>(item);
    channel = groups.last_digit(rest) * width;
    for (int d = 3; d-- > 0;) place[d] = places[d].last_digit(rest);
    return rest;
  }
};

// Rows of a window, and windows that cover a place, that a thread loads before it uses the first: the compiler would
// wait for each load.
constexpr int row_ahead = 3, windows_ahead = 2;

template <class T, int width> struct PoolFeatureColumns {
  ColumnPooling pool;
  const void* x;
  void* y;
  std::int32_t* largest; // null: not stored
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int32_t at[3], channel = 0;
    const std::int32_t n = pool.take_apart(i, pool.small, width, at, channel);
    const PlacesOf these = pool.covered(at);
    Floats<width> made{};
    Together<std::int32_t, width> best;
    for (int w = 0; w < width; ++w) best.at[w] = -1;
    for (std::int32_t a = these.first[0]; a < these.last[0]; ++a)
      for (std::int32_t b = these.first[1]; b < these.last[1]; ++b)
        for (std::int32_t c = these.first[2]; c < these.last[2]; c += row_ahead) {
          Together<typename T::Bits, width> read[row_ahead];
          DLHOST_UNROLL
          for (int k = 0; k < row_ahead; ++k)
            if (c + k < these.last[2])
              read[k] = read_some<T, width>(x, pool.element(n, a, b, c + k, pool.big, channel));
          DLHOST_UNROLL
          for (int k = 0; k < row_ahead; ++k) {
            if (c + k >= these.last[2]) continue;
            const auto values = values_of<T, width>(read[k]);
            if (!pool.max) {
              for (int w = 0; w < width; ++w) made.at[w] += values.at[w];
              continue;
            }
            const std::int32_t number = pool.number(a, b, c + k);
            for (int w = 0; w < width; ++w) {
              const float value = values.at[w];
              const bool better = best.at[w] < 0 || value > made.at[w] || value != value;
              best.at[w] = better ? number : best.at[w];
              made.at[w] = better ? value : made.at[w];
            }
          }
        }
    for (int w = 0; !pool.max && w < width; ++w) made.at[w] *= pool.share(at, these);
    const std::int64_t to = pool.element(n, at[0], at[1], at[2], pool.small, channel);
    store_some<T, width>(y, to, made);
    if (largest) *reinterpret_cast<Together<std::int32_t, width>*>(largest + to) = best;
  }
};

template <class T, int width> struct PoolGradientColumns {
  ColumnPooling pool;
  const void* dy;
  void* dx;
  const std::int32_t* largest; // of max
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int32_t place[3], channel = 0;
    const std::int32_t n = pool.take_apart(i, pool.big, width, place, channel);
    const PlacesOf these = pool.covering(place);
    const std::int32_t number = pool.number(place[0], place[1], place[2]);
    Floats<width> sum{};
    std::int32_t at[3];
    for (at[0] = these.first[0]; at[0] < these.last[0]; ++at[0]) // windows in fixed order
      for (at[1] = these.first[1]; at[1] < these.last[1]; ++at[1])
        for (std::int32_t c = these.first[2]; c < these.last[2]; c += windows_ahead) {
          Together<typename T::Bits, width> read[windows_ahead];
          Together<std::int32_t, width> best[windows_ahead];
          DLHOST_UNROLL
          for (int k = 0; k < windows_ahead; ++k) {
            if (c + k >= these.last[2]) continue;
            const std::int64_t from = pool.element(n, at[0], at[1], c + k, pool.small, channel);
            read[k] = read_some<T, width>(dy, from);
            if (pool.max) best[k] = *reinterpret_cast<const Together<std::int32_t, width>*>(largest + from);
          }
          DLHOST_UNROLL
          for (int k = 0; k < windows_ahead; ++k) {
            if (c + k >= these.last[2]) continue;
            const auto values = values_of<T, width>(read[k]);
            if (!pool.max) {
              at[2] = c + k;
              const float share = pool.share(at, pool.covered(at));
              for (int w = 0; w < width; ++w) sum.at[w] += values.at[w] * share;
            } else {
              for (int w = 0; w < width; ++w) sum.at[w] += best[k].at[w] == number ? values.at[w] : 0.0F;
            }
          }
        }
    store_some<T, width>(dx, pool.element(n, place[0], place[1], place[2], pool.big, channel), sum);
  }
};

class Pool final : public KernelOp {
 public:
  Pool(const PoolSpec& spec, const Geometry& geometry)
      : feature_(spec.role == Role::feature), pool_{
                                                  geometry, spec.kind == PoolSpec::Kind::max, spec.count_padding, {}} {
    for (std::size_t d = 0; d < 3; ++d) pool_.counted_end[d] = geometry.big[d];
    const std::size_t unused = 3 - spec.window.size(); // the last axes are used
    for (std::size_t i = 0; i < spec.window.size(); ++i)
      pool_.counted_end[unused + i] += spec.pad_high[i] - (spec.uncounted.empty() ? 0 : spec.uncounted[i]);
    in = {feature_ ? spec.x : spec.y};
    out = {feature_ ? spec.y : spec.x};
    channels_ = spec.x.shape[1];
    columns_ = spec.x.format == channels_last;
    if (pool_.max && (spec.training || !feature_))
      workspace_bytes = static_cast<std::size_t>(spec.y.count()) * sizeof(std::int32_t);
    operations = static_cast<double>(spec.y.count() * geometry.window_size());
    kernel = "cuda pool";
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    if (columns_) return run_columns(stream, call);
    const Source from{call.in[0], in[0].dtype};
    const Target to{call.out[0], out[0].dtype};
    if (feature_)
      each(stream, out[0].count(),
           PoolFeature{pool_, from, to, workspace_bytes > 0 ? static_cast<std::int32_t*>(call.out[1]) : nullptr});
    else
      each(stream, out[0].count(),
           PoolGradient{pool_, from, to, workspace_bytes > 0 ? static_cast<const std::int32_t*>(call.in[1]) : nullptr});
  }

 private:
  void run_columns(WorkStream& stream, const Call& call) {
    const bool keeps = workspace_bytes > 0;
    by_type_and_width<8>(in[0].dtype, channels_, {call.in[0], call.out[0]}, [&](auto type, auto width) {
      using T = decltype(type);
      constexpr int wide = decltype(width)::value;
      const std::int64_t items = out[0].count() / wide;
      if (feature_)
        each(stream, items,
             PoolFeatureColumns<T, wide>{{pool_, channels_, wide},
                                         call.in[0],
                                         call.out[0],
                                         keeps ? static_cast<std::int32_t*>(call.out[1]) : nullptr});
      else
        each(stream, items,
             PoolGradientColumns<T, wide>{{pool_, channels_, wide},
                                          call.in[0],
                                          call.out[0],
                                          keeps ? static_cast<const std::int32_t*>(call.in[1]) : nullptr});
    });
  }

  bool feature_, columns_ = false;
  Pooling pool_;
  std::int64_t channels_ = 0;
};

} // namespace

Prepared prepare_own(const PoolSpec& wanted) {
  DLHOST_TRY(wanted.check());
  PoolSpec spec = wanted;
  DLHOST_TRY(settle("pool", spec.x, spec.y));
  const bool typed = spec.x.dtype == spec.y.dtype && is_float(spec.x.dtype) && spec.x.dtype != DType::f64;
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (spec.x.format == channels_last && (!typed || spec.x.count() >= most || spec.y.count() >= most))
    return Status::unsupported(
        "cuda: pool with the channels last has x and y of one floating-point type, and below 2^31 "
        "elements");
  const std::vector<std::int64_t> none(spec.window.size(), 1);
  DLHOST_ASSIGN(const auto geometry, Geometry::make("pool", spec.x.shape, spec.y.shape, spec.window, spec.stride,
                                                    spec.pad_low, spec.pad_high, none));
  return std::unique_ptr<Op>(std::make_unique<Pool>(spec, geometry));
}

} // namespace dlhost::plugins::cuda
