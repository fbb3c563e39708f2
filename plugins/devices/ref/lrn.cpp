#include "make.h"

namespace dlhost::plugins::ref {

namespace {

template <class T> class Lrn : public Loops<T> {
 public:
  Lrn(const LrnSpec& spec, const Manner& manner, const Choice&) : Loops<T>(manner), spec_(spec) {
    x_ = this->takes(spec.x);
    if (spec.role != Role::feature) dy_ = this->takes(spec.y);
    result_ = this->gives(spec.role == Role::feature ? spec.y : spec.x);
    base_ = this->template room<T>(spec.x.count());
    elements_ = spec.size;
    for (std::size_t axis = 3; spec.within_channel && axis < spec.x.shape.rank(); ++axis) elements_ *= spec.size;
  }

  Status compute(const Call& call) override {
    const T* x = x_.read(call);
    T* base = base_.in(call); // k + alpha / n sum x^2
    const std::int64_t count = spec_.x.count();
    for (std::int64_t i = 0; i < count; ++i) {
      T sum = 0;
      each_near(i, [&](std::int64_t j) { sum += x[j] * x[j]; });
      base[i] = static_cast<T>(spec_.k) + static_cast<T>(spec_.alpha) / static_cast<T>(elements_) * sum;
    }
    if (spec_.role == Role::feature) {
      T* y = result_.fresh(call);
      for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * power(base[i], -spec_.beta);
    } else {
      gradient(x, base, dy_.read(call), result_.zeroed(call));
    }
    result_.write(call);
    return {};
  }

 private:
  static T power(T base, double exponent) { return std::pow(base, static_cast<T>(exponent)); }

  void gradient(const T* x, const T* base, const T* dy, T* dx) const {
    const T factor = static_cast<T>(2 * spec_.alpha * spec_.beta) / static_cast<T>(elements_);
    for (std::int64_t i = 0; i < spec_.x.count(); ++i) {
      const T through = factor * dy[i] * x[i] * power(base[i], -spec_.beta - 1);
      each_near(i, [&](std::int64_t j) { dx[j] -= through * x[j]; });
      dx[i] += dy[i] * power(base[i], -spec_.beta);
    }
  }

  // Calls visit(j) for the elements that normalise element i: a window around it, over channels or over space.
  template <class Visit> void each_near(std::int64_t i, Visit&& visit) const {
    const Shape& shape = spec_.x.shape;
    if (spec_.within_channel)
      box(i, 2, visit);
    else
      along(i, shape.past(2), shape[1], [&](std::int64_t j) { visit(j); });
  }
  template <class Visit> void along(std::int64_t i, std::int64_t step, std::int64_t length, Visit&& visit) const {
    const std::int64_t at = i / step % length, low = at - spec_.size / 2;
    for (std::int64_t to = std::max<std::int64_t>(low, 0); to < std::min(low + spec_.size, length); ++to)
      visit(i + (to - at) * step);
  }
  template <class Visit> void box(std::int64_t i, std::size_t axis, Visit& visit) const {
    if (axis == spec_.x.shape.rank()) return visit(i);
    along(i, spec_.x.shape.past(axis + 1), spec_.x.shape[axis], [&](std::int64_t j) { box(j, axis + 1, visit); });
  }

  LrnSpec spec_;
  std::int64_t elements_ = 0; // of a window
  Operand<T> x_, dy_, result_;
  Room<T> base_;
};

} // namespace

MadeOp make_op(const LrnSpec& spec, const Manner& manner, const Choice& choice) {
  if (spec.x.shape != spec.y.shape || spec.x.shape.rank() < (spec.within_channel ? 3U : 2U) || spec.size < 1)
    return Status::invalid("lrn: x ", to_string(spec.x.shape), " and y ", to_string(spec.y.shape),
                           " must have one shape, [n, c, ...], and the size be at least 1");
  auto op = in_its_type<Lrn>(spec, manner, choice);
  op->operations = static_cast<double>(spec.x.count()) * 2.0 * static_cast<double>(spec.size);
  return op;
}

} // namespace dlhost::plugins::ref
