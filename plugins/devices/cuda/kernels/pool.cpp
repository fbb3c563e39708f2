// Pooling. Ours, since the contract says which of equal maxima gets the gradient, and cuDNN does not. The workspace of
// max holds, for each element of y, the place in its channel of the element that it is; gradients are gathered by the
// elements of x, so that no two threads add to one.
#include "geometry.h"
#include "launch.h"
#include "number.h"
#include "prepare.h"

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

class Pool final : public KernelOp {
 public:
  Pool(const PoolSpec& spec, const Geometry& geometry)
      : feature_(spec.role == Role::feature), pool_{geometry, spec.kind == PoolSpec::Kind::max, spec.count_padding} {
    in = {plain_of(feature_ ? spec.x : spec.y)};
    out = {plain_of(feature_ ? spec.y : spec.x)};
    if (pool_.max && (spec.training || !feature_))
      workspace_bytes = static_cast<std::size_t>(spec.y.count()) * sizeof(std::int32_t);
    operations = static_cast<double>(spec.y.count() * geometry.window_size());
    kernel = "cuda pool";
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
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
  bool feature_;
  Pooling pool_;
};

bool covers_something(const Geometry& geometry, std::int64_t at) {
  const Places these = geometry.places_covered(at);
  for (int d = 0; d < 3; ++d)
    if (these.first[d] >= these.last[d]) return false;
  return true;
}

} // namespace

Prepared prepare_own(const PoolSpec& spec) {
  DLHOST_TRY(need_plain("pool", {&spec.x, &spec.y}));
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
