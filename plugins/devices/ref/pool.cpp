#include "geometry.h"
#include "make.h"

namespace dlhost::plugins::ref {

namespace {

Result<Geometry> geometry_of(const PoolSpec& spec) {
  DLHOST_TRY(spec.check());
  const std::vector<std::int64_t> none(spec.window.size(), 1);
  return Geometry::make("pool", spec.x.shape, spec.y.shape, spec.window, spec.stride, spec.pad_low, spec.pad_high,
                        none);
}

// The workspace of max has, for each element of y, the place of its maximum in the channel of x.
template <class T> class Pooling : public Loops<T> {
 public:
  Pooling(const PoolSpec& spec, const Manner& manner, const Choice&)
      : Loops<T>(manner), spec_(spec), geometry_(*geometry_of(spec)), counted_end_(geometry_.big) {
    const std::size_t unused = counted_end_.size() - spec.window.size(); // the last axes are used
    for (std::size_t i = 0; i < spec.window.size(); ++i)
      counted_end_[unused + i] += spec.pad_high[i] - (spec.uncounted.empty() ? 0 : spec.uncounted[i]);
    const bool feature = spec.role == Role::feature;
    if (feature) {
      x_ = this->takes(spec.x);
      y_ = this->gives(spec.y);
    } else {
      y_ = this->takes(spec.y);
      x_ = this->gives(spec.x);
    }
    if (spec.kind == PoolSpec::Kind::max && (spec.training || !feature))
      this->workspace_bytes = static_cast<std::size_t>(spec.y.count()) * sizeof(std::int32_t);
  }

  Status compute(const Call& call) override {
    if (spec_.role == Role::feature)
      feature(call);
    else
      gradient(call);
    return {};
  }

 private:
  std::int64_t channels() const { return spec_.y.shape[0] * spec_.y.shape[1]; }

  T share(std::int64_t at) const {
    std::int64_t divisor = 0;
    if (spec_.count_padding)
      divisor = counted(at);
    else
      geometry_.each(at, [&](auto, auto) { ++divisor; });
    return T{1} / static_cast<T>(divisor);
  }

  // Elements of a window, counted padding included.
  std::int64_t counted(std::int64_t at) const {
    const Geometry& g = geometry_;
    const Geometry::Three p{at / (g.small[1] * g.small[2]), at / g.small[2] % g.small[1], at % g.small[2]};
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t first = p[d] * g.stride[d] - g.pad[d];
      elements *= std::min(g.window[d], counted_end_[d] - first);
    }
    return elements;
  }

  void feature(const Call& call) {
    const T* x = x_.read(call);
    T* y = y_.fresh(call);
    auto* largest = this->workspace_bytes > 0 ? static_cast<std::int32_t*>(call.out[1]) : nullptr;
    const std::int64_t big = geometry_.big_size(), small = geometry_.small_size();
    for (std::int64_t c = 0; c < channels(); ++c)
      for (std::int64_t at = 0; at < small; ++at) {
        T sum = 0;
        std::int64_t best = -1;
        geometry_.each(at, [&](std::int64_t place, std::int64_t) {
          const T value = x[c * big + place];
          sum += value;
          if (best < 0 || value > x[c * big + best] || value != value) best = place;
        });
        const bool max = spec_.kind == PoolSpec::Kind::max;
        y[c * small + at] = max ? x[c * big + best] : sum * share(at);
        if (largest) largest[c * small + at] = static_cast<std::int32_t>(best);
      }
    y_.write(call);
  }

  void gradient(const Call& call) {
    const T* dy = y_.read(call);
    T* dx = x_.zeroed(call);
    const auto* largest = this->workspace_bytes > 0 ? static_cast<const std::int32_t*>(call.in[1]) : nullptr;
    const std::int64_t big = geometry_.big_size(), small = geometry_.small_size();
    for (std::int64_t c = 0; c < channels(); ++c)
      for (std::int64_t at = 0; at < small; ++at) {
        const T value = dy[c * small + at];
        if (largest) {
          dx[c * big + largest[c * small + at]] += value;
          continue;
        }
        const T part = value * share(at);
        geometry_.each(at, [&](std::int64_t place, std::int64_t) { dx[c * big + place] += part; });
      }
    x_.write(call);
  }

  PoolSpec spec_;
  Geometry geometry_;
  Geometry::Three counted_end_; // of the padding that counts
  Operand<T> x_, y_;
};

} // namespace

MadeOp make_op(const PoolSpec& spec, const Manner& manner, const Choice& choice) {
  DLHOST_ASSIGN(const auto geometry, geometry_of(spec));
  auto op = in_its_type<Pooling>(spec, manner, choice);
  op->operations = static_cast<double>(spec.y.count() * geometry.window_size());
  return op;
}

} // namespace dlhost::plugins::ref
