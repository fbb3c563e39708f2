// Local response normalisation, over channels or over a window of space: one loop over the window's axes does both.
#include "launch.h"
#include "lrn_columns.h"
#include "number.h"
#include "prepare.h"

namespace dlhost::plugins::cuda {

namespace {

struct Neighbours {
  std::int64_t size = 1, before = 0; // of a window along each axis; elements before its own
  std::int32_t axes = 0;
  std::int64_t length[max_rank] = {}, step[max_rank] = {}; // of the window's axes
  std::int64_t elements = 1;                               // of a window, padding included

  // Element `k` in i's window; -1: outside.
  DLHOST_BODY std::int64_t of(std::int64_t i, std::int64_t k, std::int64_t first) const {
    std::int64_t place = i;
    for (std::int32_t axis = axes; axis-- > 0;) {
      const std::int64_t at = quotient(i, step[axis]) % length[axis];
      const std::int64_t to = at - first + last_digit(k, size);
      if (to < 0 || to >= length[axis]) return -1;
      place += (to - at) * step[axis];
    }
    return place;
  }
};

DLHOST_BODY float base_of(const Neighbours& near, const Strength& strength, const Source& x, std::int64_t i) {
  float sum = 0;
  for (std::int64_t k = 0; k < near.elements; ++k) {
    const std::int64_t j = near.of(i, k, near.before);
    if (j >= 0) sum += x[j] * x[j];
  }
  return strength.base(sum, near.elements);
}

struct LrnFeature {
  Neighbours near;
  Strength strength;
  Source x;
  Target y;
  DLHOST_BODY void operator()(std::int64_t i) const { y.set(i, x[i] * strength.power(base_of(near, strength, x, i))); }
};

// The factors of an element's dy in the gradient of its whole window, and of itself.
struct LrnThrough {
  Neighbours near;
  Strength strength;
  Source x, dy;
  float *through, *own;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const float base = base_of(near, strength, x, i), power = strength.power(base);
    through[i] = strength.factor(near.elements) * dy[i] * x[i] * power / base;
    own[i] = dy[i] * power;
  }
};

struct LrnGradient {
  Neighbours near;
  Source x;
  const float *through, *own;
  Target dx;
  DLHOST_BODY void operator()(std::int64_t j) const {
    float sum = 0;
    for (std::int64_t k = 0; k < near.elements; ++k) { // elements whose window contains j
      const std::int64_t i = near.of(j, k, near.size - 1 - near.before);
      if (i >= 0) sum += through[i];
    }
    dx.set(j, own[j] - sum * x[j]);
  }
};

class Lrn final : public KernelOp {
 public:
  explicit Lrn(const LrnSpec& spec)
      : feature_(spec.role == Role::feature), strength_{static_cast<float>(spec.alpha), static_cast<float>(spec.beta),
                                                        static_cast<float>(spec.k)} {
    in = {spec.x};
    if (!feature_) in.push_back(spec.y);
    out = {feature_ ? spec.y : spec.x};
    near_.size = spec.size;
    near_.before = spec.size / 2;
    const std::size_t first = spec.within_channel ? 2 : 1, end = spec.within_channel ? spec.x.shape.rank() : 2;
    const Shape lie = lying(in[0]);
    for (std::size_t axis = first; axis < end; ++axis) {
      near_.length[near_.axes] = spec.x.shape[axis];
      near_.step[near_.axes++] = lie.past(lying_axis(in[0], axis) + 1);
      near_.elements *= spec.size;
    }
    const DType type = spec.x.dtype;
    columns_ = near_.axes == 1 && near_.step[0] == 1 && (spec.size == 3 || spec.size == 5) && spec.y.dtype == type &&
               (type == DType::f32 || type == DType::bf16 || type == DType::f16);
    if (!feature_ && !columns_) {
      through_ = room<float>(spec.x.count());
      own_ = room<float>(spec.x.count());
    }
    kernel = "cuda lrn";
    operations = static_cast<double>(spec.x.count()) * 2.0 * static_cast<double>(near_.elements);
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    const Source x{call.in[0], in[0].dtype};
    const Target result{call.out[0], out[0].dtype};
    const std::int64_t count = out[0].count();
    if (columns_) return near_.size == 3 ? run_columns<1>(stream, call, count) : run_columns<2>(stream, call, count);
    if (feature_) return each(stream, count, LrnFeature{near_, strength_, x, result});
    float *through = through_.in(call), *own = own_.in(call);
    each(stream, count, LrnThrough{near_, strength_, x, {call.in[1], in[1].dtype}, through, own});
    each(stream, count, LrnGradient{near_, x, through, own, result});
  }

 private:
  template <int reach> void run_columns(WorkStream& stream, const Call& call, std::int64_t count) {
    const std::int64_t channels = near_.length[0];
    const void* dy = feature_ ? nullptr : call.in[1];
    by_type_and_width<8>(in[0].dtype, channels, {call.in[0], dy, call.out[0]}, [&](auto type, auto width) {
      using T = decltype(type);
      constexpr int wide = decltype(width)::value;
      const LrnColumns<T, wide, reach> all{channels / wide, strength_, call.in[0]};
      if (feature_)
        each(stream, count / wide, LrnFeatureColumns<T, wide, reach>{all, call.out[0]});
      else
        each(stream, count / wide, LrnGradientColumns<T, wide, reach>{all, dy, call.out[0]});
    });
  }

  bool feature_, columns_ = false;
  Strength strength_;
  Neighbours near_;
  Room<float> through_, own_;
};

} // namespace

Prepared prepare_own(const LrnSpec& wanted) {
  LrnSpec spec = wanted;
  DLHOST_TRY(settle("lrn", spec.x, spec.y));
  if (spec.x.shape != spec.y.shape || spec.x.shape.rank() < (spec.within_channel ? 3U : 2U) || spec.size < 1)
    return Status::invalid("lrn: x ", to_string(spec.x.shape), " and y ", to_string(spec.y.shape),
                           " must have one shape, [n, c, ...], and the size be at least 1");
  return std::unique_ptr<Op>(std::make_unique<Lrn>(spec));
}

} // namespace dlhost::plugins::cuda
