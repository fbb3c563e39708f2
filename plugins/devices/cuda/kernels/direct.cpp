// Products and convolutions as plain loops, with a thread for each element of the result: for specs that the libraries
// decline, and for the test on the host. A product is a convolution over one place.
#include "finish.h"
#include "geometry.h"
#include "launch.h"
#include "prepare.h"

namespace dlhost::plugins::cuda {

namespace {

// w[small channel, big channel of its group, window...], for both directions.
struct Windows {
  Geometry geometry;
  std::int64_t groups = 1, small_channels = 1, big_channels = 1; // channels in a group
  Lie big, small, weight;                                        // a weight's n is the small channel
};

// Computes the small side from the big one: a feature, or a transposed convolution's input gradient.
struct MakeSmall {
  Windows windows;
  Source big, w;
  Target small;
  Finish finish;
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t s = 0, at = 0;
    const std::int64_t n = windows.small.take_apart(i, s, at);
    const std::int64_t first = s / windows.small_channels * windows.big_channels;
    float sum = 0;
    for (std::int64_t b = 0; b < windows.big_channels; ++b)
      for (std::int64_t k = 0; k < windows.geometry.window_size(); ++k) {
        const std::int64_t place = windows.geometry.covered(at, k);
        if (place >= 0) sum += big[windows.big.of(n, first + b, place)] * w[windows.weight.of(s, b, k)];
      }
    small.set(i, finish(i, sum));
  }
};

// Computes the big side from the small one: an input gradient, or a transposed convolution's feature.
struct MakeBig {
  Windows windows;
  Source small, w;
  Target big;
  Finish finish;
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t c = 0, place = 0;
    const std::int64_t n = windows.big.take_apart(i, c, place);
    const std::int64_t group = c / windows.big_channels, b = c % windows.big_channels;
    float sum = 0;
    for (std::int64_t o = 0; o < windows.small_channels; ++o) {
      const std::int64_t s = group * windows.small_channels + o;
      for (std::int64_t k = 0; k < windows.geometry.window_size(); ++k) {
        const std::int64_t at = windows.geometry.covering(place, k);
        if (at >= 0) sum += small[windows.small.of(n, s, at)] * w[windows.weight.of(s, b, k)];
      }
    }
    big.set(i, finish(i, sum));
  }
};

// Computes the weights' gradient: a sum over samples and windows.
struct MakeWeights {
  using Sum = float;
  Windows windows;
  Source big, small;
  Target w;
  Finish last;
  DLHOST_BODY Sum zero() const { return 0; }
  DLHOST_BODY void take(Sum& sum, std::int64_t item, std::int64_t term) const {
    std::int64_t b = 0, k = 0;
    const std::int64_t s = windows.weight.take_apart(item, b, k);
    const std::int64_t at = last_digit(term, windows.geometry.small_size());
    const std::int64_t place = windows.geometry.covered(at, k);
    if (place < 0) return;
    const std::int64_t c = s / windows.small_channels * windows.big_channels + b;
    sum += big[windows.big.of(term, c, place)] * small[windows.small.of(term, s, at)];
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum += other; }
  DLHOST_BODY void finish(std::int64_t item, const Sum& sum) const { w.set(item, last(item, sum)); }
};

template <class Spec> class Direct final : public KernelOp {
 public:
  Direct(const Spec& spec, const Windows& windows, bool transposed, Format liked)
      : role_(spec.role), windows_(windows), transposed_(transposed), liked_(liked) {
    const bool bias = spec.b.shape.rank() > 0;
    if (role_ != Role::input_gradient) x_ = take(spec.x);
    if (role_ != Role::feature) y_ = take(spec.y);
    if (role_ != Role::param_gradient) w_ = take(spec.w);
    if (role_ == Role::feature && bias) bias_ = take(spec.b);
    out = {lies(role_ == Role::feature ? spec.y : role_ == Role::input_gradient ? spec.x : spec.w, liked)};
    const auto last = [&](const TensorDesc& desc) { return lies(desc, liked).format == channels_last; };
    const Geometry& geometry = windows.geometry;
    windows_.big = {windows.groups * windows.big_channels, geometry.big_size(), last(transposed ? spec.y : spec.x)};
    windows_.small = {windows.groups * windows.small_channels, geometry.small_size(),
                      last(transposed ? spec.x : spec.y)};
    windows_.weight = {windows.big_channels, geometry.window_size(), last(spec.w)};
    const auto function = function_of(spec.epilogue);
    epilogue_taken = function.has_value();
    if (function) finish_.function = *function;
    if (epilogue_taken && spec.epilogue.add) addend_ = take(out[0]);
    finish_.channels = spec.y.shape[1];
    finish_.inner = last(spec.y) ? 1 : spec.y.shape.past(2);
    terms_ = spec.y.shape[0] * spec.y.shape.past(2);
    rows_ = spec.x.shape[0];
    if (role_ == Role::param_gradient) {
      if (bias) out.push_back(spec.b);
      sums<MakeWeights>(spec.w.count(), rows_ * windows_.geometry.small_size());
      sums<BiasGradient>(finish_.channels, terms_);
    }
    settle_sums();
    kernel = concat("cuda direct ", name_of(OpSpec(spec)));
    operations =
        2.0 * static_cast<double>(rows_) * static_cast<double>(spec.w.count() * windows_.geometry.small_size());
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    Finish finish = finish_;
    if (bias_ >= 0) finish.bias = source(call, bias_);
    if (addend_ >= 0) finish.addend = source(call, addend_);
    const Target result{call.out[0], out[0].dtype};
    if (role_ == Role::param_gradient) {
      const Source x = source(call, x_), dy = source(call, y_);
      reduce(stream, out[0].count(), rows_ * windows_.geometry.small_size(),
             MakeWeights{windows_, transposed_ ? dy : x, transposed_ ? x : dy, result, finish}, sums_in(call));
      if (out.size() > 1)
        reduce(stream, finish.channels, terms_,
               BiasGradient{dy, {call.out[1], out[1].dtype}, finish.inner, finish.channels}, sums_in(call));
      return;
    }
    const Source from = source(call, role_ == Role::feature ? x_ : y_), w = source(call, w_);
    if ((role_ == Role::feature) != transposed_)
      each(stream, out[0].count(), MakeSmall{windows_, from, w, result, finish});
    else
      each(stream, out[0].count(), MakeBig{windows_, from, w, result, finish});
  }

 private:
  int take(const TensorDesc& desc) {
    in.push_back(lies(desc, liked_));
    return static_cast<int>(in.size()) - 1;
  }
  Source source(const Call& call, int which) const {
    const auto at = static_cast<std::size_t>(which);
    return {call.in[at], in[at].dtype};
  }

  Role role_;
  Windows windows_;
  bool transposed_;
  Format liked_;
  Finish finish_;
  std::int64_t rows_ = 0, terms_ = 0;                      // samples; terms of a bias's gradient
  int x_ = -1, y_ = -1, w_ = -1, bias_ = -1, addend_ = -1; // indices of inputs
};

} // namespace

Prepared prepare_direct(const GemmSpec& spec) {
  DLHOST_TRY(need_plain("gemm", {&spec.x, &spec.w, &spec.b, &spec.y}));
  const Shape &x = spec.x.shape, &w = spec.w.shape, &y = spec.y.shape, &b = spec.b.shape;
  const bool fits = x.rank() >= 2 && w.rank() >= 2 && y.rank() == 2 && x[0] == y[0] && w[0] == y[1] &&
                    x.past(1) == w.past(1) && (b.rank() == 0 || b == Shape{y[1]});
  if (!fits)
    return Status::invalid("gemm: x ", to_string(x), ", w ", to_string(w), ", b ", to_string(b), " and y ",
                           to_string(y), " do not fit: y[n, u] = x[n, ...] w[u, ...] + b[u]");
  const Windows windows{.small_channels = y[1], .big_channels = x.past(1)};
  return std::unique_ptr<Op>(std::make_unique<Direct<GemmSpec>>(spec, windows, false, Format::plain()));
}

Prepared prepare_direct(const ConvSpec& spec, Format liked) {
  DLHOST_TRY(need_plain("conv", {&spec.b}));
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
  const Windows windows{geometry, spec.groups, small[1] / spec.groups, big[1] / spec.groups};
  return std::unique_ptr<Op>(std::make_unique<Direct<ConvSpec>>(spec, windows, spec.transposed, liked));
}

} // namespace dlhost::plugins::cuda
