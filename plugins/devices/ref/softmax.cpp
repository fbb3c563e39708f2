#include "make.h"

namespace dlhost::plugins::ref {

namespace {

// One line of elements along an axis.
struct Line {
  std::int64_t start, step, length;
  std::int64_t at(std::int64_t i) const { return start + i * step; }
};

template <class Body> void each_line(const Shape& shape, std::size_t axis, Body&& body) {
  const std::int64_t inner = shape.past(axis + 1), length = shape[axis];
  const std::int64_t outer = length * inner > 0 ? shape.count() / (length * inner) : 0;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) body(Line{o * length * inner + i, inner, length});
}

// p = softmax(x) along the line; returns log(sum exp x).
template <class T> T softmax(const T* x, T* p, const Line& line) {
  T largest = x[line.at(0)], sum = 0;
  for (std::int64_t i = 1; i < line.length; ++i) largest = std::max(largest, x[line.at(i)]);
  for (std::int64_t i = 0; i < line.length; ++i) sum += p[line.at(i)] = std::exp(x[line.at(i)] - largest);
  for (std::int64_t i = 0; i < line.length; ++i) p[line.at(i)] /= sum;
  return largest + std::log(sum);
}

template <class T> class Softmax : public Loops<T> {
 public:
  Softmax(const SoftmaxSpec& spec, const Manner& manner, const Choice&)
      : Loops<T>(manner), role_(spec.role), axis_(spec.axis), logarithm_(spec.logarithm) {
    if (role_ == Role::feature) {
      x_ = this->takes(spec.x);
      y_ = this->gives(spec.y);
    } else {
      y_ = this->takes(spec.y);
      dy_ = this->takes(spec.y);
      x_ = this->gives(spec.x);
    }
  }

  Status compute(const Call& call) override {
    if (role_ == Role::feature)
      feature(call);
    else
      gradient(call);
    return {};
  }

 private:
  void feature(const Call& call) {
    const T* x = x_.read(call);
    T* y = y_.fresh(call);
    each_line(x_.desc.shape, axis_, [&](const Line& line) {
      const T total = softmax(x, y, line);
      for (std::int64_t i = 0; logarithm_ && i < line.length; ++i) y[line.at(i)] = x[line.at(i)] - total;
    });
    y_.write(call);
  }

  void gradient(const Call& call) {
    const T *y = y_.read(call), *dy = dy_.read(call);
    T* dx = x_.fresh(call);
    each_line(x_.desc.shape, axis_, [&](const Line& line) {
      T sum = 0;
      for (std::int64_t i = 0; i < line.length; ++i) sum += dy[line.at(i)] * (logarithm_ ? T{1} : y[line.at(i)]);
      for (std::int64_t i = 0; i < line.length; ++i) {
        const std::int64_t at = line.at(i);
        dx[at] = logarithm_ ? dy[at] - std::exp(y[at]) * sum : y[at] * (dy[at] - sum);
      }
    });
    x_.write(call);
  }

  Role role_;
  std::size_t axis_;
  bool logarithm_;
  Operand<T> x_, y_, dy_;
};

template <class T> class SoftmaxLoss : public Loops<T> {
 public:
  SoftmaxLoss(const SoftmaxLossSpec& spec, const Manner& manner, const Choice& choice)
      : Loops<T>(manner), spec_(spec), block_rows_(choice.block_samples) {
    Shape labels{spec.x.shape[0]};
    for (std::size_t axis = 2; axis < spec.x.shape.rank(); ++axis) labels.push_back(spec.x.shape[axis]);
    x_ = this->takes(spec.x);
    labels_ = this->template takes<std::int64_t>({DType::i32, labels, {}});
    if (spec.class_weights) weights_ = this->takes(f32_of({spec.x.shape[1]}));
    y_ = this->gives(spec.x);
    if (spec.role != Role::feature) return;
    total_ = this->gives(f32_of({2}));
    partials_ = this->template room<T>(partials_size(spec.x.shape[0], block_rows_, 2));
  }

  Status compute(const Call& call) override {
    const T* x = x_.read(call);
    const std::int64_t* labels = labels_.read(call);
    weight_of_ = spec_.class_weights ? weights_.read(call) : nullptr;
    const std::int64_t classes = spec_.x.shape[1];
    for (std::int64_t i = 0; i < counted_rows(call, spec_.x.shape[0]) * labels_.desc.shape.past(1); ++i)
      if (labels[i] != spec_.ignored && (labels[i] < 0 || labels[i] >= classes))
        return Status::invalid("label ", labels[i], " of row ", i / labels_.desc.shape.past(1),
                               " of the batch is not in [0, ", classes,
                               "): give the layer before the loss more units, or number classes from 0");
    if (spec_.role == Role::feature)
      feature(call, x, labels);
    else
      gradient(call, x, labels);
    return {};
  }

 private:
  // The line of label i of row n.
  Line line(std::int64_t n, std::int64_t i) const {
    const std::int64_t inner = spec_.x.shape.past(2);
    return {n * spec_.x.shape.past(1) + i, inner, spec_.x.shape[1]};
  }
  T weight(std::int64_t label) const {
    if (label == spec_.ignored) return 0;
    return weight_of_ ? weight_of_[label] : T{1};
  }
  T target(std::int64_t label, std::int64_t c) const {
    const T spread = static_cast<T>(spec_.smoothing) / static_cast<T>(spec_.x.shape[1]);
    return spread + (c == label ? 1 - static_cast<T>(spec_.smoothing) : T{0});
  }

  void feature(const Call& call, const T* x, const std::int64_t* labels) {
    T* p = y_.fresh(call);
    const std::int64_t inner = spec_.x.shape.past(2), counted = counted_rows(call, spec_.x.shape[0]);
    sum_in_blocks(spec_.x.shape[0], block_rows_, 2, total_.fresh(call), partials_.in(call),
                  [&](std::int64_t first, std::int64_t last, T* sums) {
                    for (std::int64_t n = first; n < last; ++n)
                      for (std::int64_t i = 0; i < inner; ++i)
                        sample(x, p, line(n, i), n < counted ? labels[n * inner + i] : -1, n < counted, sums);
                  });
    y_.write(call);
    total_.write(call);
  }

  void sample(const T* x, T* p, const Line& at, std::int64_t label, bool counts, T* sums) const {
    const T log_sum = softmax(x, p, at);
    const T w = counts ? weight(label) : T{0};
    if (w == 0) return;
    T loss = 0;
    for (std::int64_t c = 0; c < at.length; ++c)
      if (const T t = target(label, c); t != 0) loss += t * (log_sum - x[at.at(c)]);
    sums[0] += w * loss;
    sums[1] += w;
  }

  void gradient(const Call& call, const T* p, const std::int64_t* labels) {
    T* dx = y_.zeroed(call);
    const std::int64_t inner = spec_.x.shape.past(2);
    const T factor = static_cast<T>(call.dynamic.scalars[0]);
    for (std::int64_t n = 0; n < counted_rows(call, spec_.x.shape[0]); ++n)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t label = labels[n * inner + i];
        const T w = factor * weight(label);
        const Line at = line(n, i);
        for (std::int64_t c = 0; w != 0 && c < at.length; ++c) dx[at.at(c)] = w * (p[at.at(c)] - target(label, c));
      }
    y_.write(call);
  }

  SoftmaxLossSpec spec_;
  std::int64_t block_rows_;
  Operand<T> x_, y_, weights_, total_;
  Operand<std::int64_t> labels_;
  Room<T> partials_;
  const T* weight_of_ = nullptr; // of the current run
};

} // namespace

MadeOp make_op(const SoftmaxSpec& spec, const Manner& manner, const Choice& choice) {
  if (spec.x.shape != spec.y.shape || spec.axis >= spec.x.shape.rank())
    return Status::invalid("softmax: x ", to_string(spec.x.shape), " and y ", to_string(spec.y.shape),
                           " must have one shape, and it must have axis ", spec.axis);
  auto op = in_its_type<Softmax>(spec, manner, choice);
  op->operations = 5.0 * static_cast<double>(spec.x.count());
  return op;
}

MadeOp make_op(const SoftmaxLossSpec& spec, const Manner& manner, const Choice& choice) {
  if (spec.x.shape.rank() < 2)
    return Status::invalid("softmax_loss: x is ", to_string(spec.x.shape), ", but must be [n, classes, ...]");
  auto op = in_its_type<SoftmaxLoss>(spec, manner, choice);
  op->operations = 5.0 * static_cast<double>(spec.x.count());
  return op;
}

} // namespace dlhost::plugins::ref
