// Pooling. Ours, since the contract says which of equal maxima gets the gradient, and cuDNN does not. The workspace of
// max holds, for each element of y, the place in its channel of the element that it is; gradients are gathered by the
// elements of x, so that no two threads add to one.
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

  // Of a window that covers these.
  DLHOST_BODY float share(const Places& these) const {
    return 1.0F / static_cast<float>(count_padding ? geometry.window_size() : these.size());
  }
};

struct PoolFeature {
  Pooling pool;
  Source x;
  Target y;
  std::int32_t* largest; // may be null
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
    y.set(i, pool.max ? most : sum * pool.share(these));
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
    for (std::int64_t a = these.first[0]; a < these.last[0]; ++a) // windows in their order
      for (std::int64_t b = these.first[1]; b < these.last[1]; ++b)
        for (std::int64_t c = these.first[2]; c < these.last[2]; ++c) {
          const std::int64_t at = (a * geometry.small[1] + b) * geometry.small[2] + c;
          if (!pool.max)
            sum += dy[start + at] * pool.share(geometry.places_covered(at));
          else if (largest[start + at] == place)
            sum += dy[start + at];
        }
    dx.set(i, sum);
  }
};

// The same where the channels come last: of one place, `width` channels.
// Takes item i apart: the first channel; the place among `places`; the sample is returned.
template <int width>
DLHOST_BODY std::int64_t take_apart(std::int64_t i, std::int64_t channels, std::int64_t places, std::int64_t& channel,
                                    std::int64_t& place) {
  channel = last_digit(i, channels / width) * width;
  place = last_digit(i, places);
  return i;
}

template <class T, int width> struct PoolFeatureColumns {
  Pooling pool;
  std::int64_t channels;
  const void* x;
  void* y;
  std::int32_t* largest; // may be null
  DLHOST_BODY void operator()(std::int64_t i) const {
    const Geometry& geometry = pool.geometry;
    std::int64_t channel = 0, at = 0;
    const std::int64_t n = take_apart<width>(i, channels, geometry.small_size(), channel, at);
    const Places these = geometry.places_covered(at);
    Floats<width> made{};
    Together<std::int32_t, width> best;
    for (int w = 0; w < width; ++w) best.at[w] = -1;
    for (std::int64_t a = these.first[0]; a < these.last[0]; ++a)
      for (std::int64_t b = these.first[1]; b < these.last[1]; ++b)
        for (std::int64_t c = these.first[2]; c < these.last[2]; ++c) {
          const std::int64_t place = (a * geometry.big[1] + b) * geometry.big[2] + c;
          const auto values = load_some<T, width>(x, (n * geometry.big_size() + place) * channels + channel);
          for (int w = 0; w < width; ++w) {
            const float value = values.at[w];
            if (!pool.max) {
              made.at[w] += value;
            } else if (best.at[w] < 0 || value > made.at[w] || value != value) {
              best.at[w] = static_cast<std::int32_t>(place);
              made.at[w] = value;
            }
          }
        }
    for (int w = 0; !pool.max && w < width; ++w) made.at[w] *= pool.share(these);
    const std::int64_t to = (n * geometry.small_size() + at) * channels + channel;
    store_some<T, width>(y, to, made);
    if (largest) *reinterpret_cast<Together<std::int32_t, width>*>(largest + to) = best;
  }
};

template <class T, int width> struct PoolGradientColumns {
  Pooling pool;
  std::int64_t channels;
  const void* dy;
  void* dx;
  const std::int32_t* largest; // of max
  DLHOST_BODY void operator()(std::int64_t i) const {
    const Geometry& geometry = pool.geometry;
    std::int64_t channel = 0, place = 0;
    const std::int64_t n = take_apart<width>(i, channels, geometry.big_size(), channel, place);
    const Places these = geometry.places_covering(place);
    Floats<width> sum{};
    for (std::int64_t a = these.first[0]; a < these.last[0]; ++a) // windows in their order
      for (std::int64_t b = these.first[1]; b < these.last[1]; ++b)
        for (std::int64_t c = these.first[2]; c < these.last[2]; ++c) {
          const std::int64_t at = (a * geometry.small[1] + b) * geometry.small[2] + c;
          const std::int64_t from = (n * geometry.small_size() + at) * channels + channel;
          const auto values = load_some<T, width>(dy, from);
          if (!pool.max) {
            const float share = pool.share(geometry.places_covered(at));
            for (int w = 0; w < width; ++w) sum.at[w] += values.at[w] * share;
          } else {
            const auto best = *reinterpret_cast<const Together<std::int32_t, width>*>(largest + from);
            for (int w = 0; w < width; ++w) sum.at[w] += best.at[w] == place ? values.at[w] : 0.0F;
          }
        }
    store_some<T, width>(dx, (n * geometry.big_size() + place) * channels + channel, sum);
  }
};

class Pool final : public KernelOp {
 public:
  Pool(const PoolSpec& spec, const Geometry& geometry)
      : feature_(spec.role == Role::feature), pool_{geometry, spec.kind == PoolSpec::Kind::max, spec.count_padding} {
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
    by_type_and_width(in[0].dtype, channels_, {call.in[0], call.out[0]}, [&](auto type, auto width) {
      using T = decltype(type);
      constexpr int wide = decltype(width)::value;
      const std::int64_t items = out[0].count() / wide;
      if (feature_)
        each(stream, items,
             PoolFeatureColumns<T, wide>{pool_, channels_, call.in[0], call.out[0],
                                         keeps ? static_cast<std::int32_t*>(call.out[1]) : nullptr});
      else
        each(stream, items,
             PoolGradientColumns<T, wide>{pool_, channels_, call.in[0], call.out[0],
                                          keeps ? static_cast<const std::int32_t*>(call.in[1]) : nullptr});
    });
  }

  bool feature_, columns_ = false;
  Pooling pool_;
  std::int64_t channels_ = 0;
};

bool covers_something(const Geometry& geometry, std::int64_t at) {
  const Places these = geometry.places_covered(at);
  for (int d = 0; d < 3; ++d)
    if (these.first[d] >= these.last[d]) return false;
  return true;
}

} // namespace

Prepared prepare_own(const PoolSpec& wanted) {
  PoolSpec spec = wanted;
  DLHOST_TRY(settle("pool", spec.x, spec.y));
  const bool typed = spec.x.dtype == spec.y.dtype && is_float(spec.x.dtype) && spec.x.dtype != DType::f64;
  if (spec.x.format == channels_last && !typed)
    return Status::unsupported("cuda: pool with the channels last has x and y of one floating-point type");
  if (spec.x.shape.rank() < 2 || spec.y.shape.rank() < 2 || spec.x.shape[0] != spec.y.shape[0] ||
      spec.x.shape[1] != spec.y.shape[1])
    return Status::invalid("pool: x ", to_string(spec.x.shape), " and y ", to_string(spec.y.shape),
                           " must have the same samples and channels");
  const std::vector<std::int64_t> none(spec.window.size(), 1);
  DLHOST_ASSIGN(const auto geometry, Geometry::make("pool", spec.x.shape, spec.y.shape, spec.window, spec.stride,
                                                    spec.pad_low, spec.pad_high, none));
  for (std::int64_t at = 0; at < geometry.small_size(); ++at)
    if (!covers_something(geometry, at))
      return Status::invalid("pool: window ", at, " lies in the padding alone; make the padding smaller");
  return std::unique_ptr<Op>(std::make_unique<Pool>(spec, geometry));
}

} // namespace dlhost::plugins::cuda
