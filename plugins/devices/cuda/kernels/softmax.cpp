// Softmax, and softmax with cross-entropy: first the totals of a line, then each element.
#include <cmath>

#include "launch.h"
#include "number.h"
#include "prepare.h"

namespace dlhost::plugins::cuda {

namespace {

// Lines along an axis: elements of a line are `inner` apart.
struct Lines {
  std::int64_t length = 1, inner = 1;
  DLHOST_BODY std::int64_t place(std::int64_t line, std::int64_t i) const {
    if (inner == 1) return line * length + i;
    const std::int64_t outer = quotient(line, inner);
    return (outer * length + i) * inner + (line - outer * inner);
  }
  // The line of an element; `at`: its position in the line.
  DLHOST_BODY std::int64_t take_apart(std::int64_t element, std::int64_t& at) const {
    std::int64_t rest = element;
    const std::int64_t beside = inner == 1 ? 0 : last_digit(rest, inner);
    at = last_digit(rest, length);
    return rest * inner + beside;
  }
  DLHOST_BODY std::int64_t line(std::int64_t element) const {
    std::int64_t at = 0;
    return take_apart(element, at);
  }
};

// The largest element, the sum of exp(x - largest), and of the elements themselves.
struct Exponentials {
  float largest, sum, plain;

  DLHOST_BODY void take(float x) {
    plain += x;
    if (x <= largest) {
      if (x != -INFINITY) sum += std::exp(x - largest);
    } else {
      sum = (sum > 0 ? sum * std::exp(largest - x) : 0) + 1;
      largest = x;
    }
  }
  DLHOST_BODY void join(const Exponentials& other) {
    plain += other.plain;
    if (other.sum == 0) return;
    if (sum == 0 || other.largest == largest) {
      sum += other.sum;
      largest = other.largest;
    } else if (other.largest < largest) {
      sum += other.sum * std::exp(other.largest - largest);
    } else { // larger, or NaN
      sum = sum * std::exp(largest - other.largest) + other.sum;
      largest = other.largest;
    }
  }
};

// Totals of a line that its elements need.
struct LineTotals {
  float largest, sum;
};

struct SoftmaxLines {
  using Sum = Exponentials;
  Lines lines;
  Source x;
  LineTotals* totals;
  DLHOST_BODY Sum zero() const { return {-INFINITY, 0, 0}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t line, std::int64_t term) const { sum.take(x[lines.place(line, term)]); }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t line, const Sum& sum) const { totals[line] = {sum.largest, sum.sum}; }
};

struct SoftmaxFeature {
  Lines lines;
  bool logarithm;
  Source x;
  const LineTotals* totals;
  Target y;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const LineTotals& of = totals[lines.line(i)];
    const float above = x[i] - of.largest;
    y.set(i, logarithm ? above - std::log(of.sum) : std::exp(above) / of.sum);
  }
};

struct GradientLines {
  using Sum = float;
  Lines lines;
  bool logarithm;
  Source y, dy;
  float* sums;
  DLHOST_BODY Sum zero() const { return 0; }
  DLHOST_BODY void take(Sum& sum, std::int64_t line, std::int64_t term) const {
    const std::int64_t i = lines.place(line, term);
    sum += logarithm ? dy[i] : dy[i] * y[i];
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum += other; }
  DLHOST_BODY void finish(std::int64_t line, const Sum& sum) const { sums[line] = sum; }
};

struct SoftmaxGradient {
  Lines lines;
  bool logarithm;
  Source y, dy;
  const float* sums;
  Target dx;
  DLHOST_BODY void operator()(std::int64_t i) const {
    const float sum = sums[lines.line(i)];
    dx.set(i, logarithm ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum));
  }
};

std::int64_t lines_of(const Shape& shape, std::size_t axis) { return shape.with(axis, 1).count(); }

class Softmax final : public KernelOp {
 public:
  explicit Softmax(const SoftmaxSpec& spec)
      : feature_(spec.role == Role::feature),
        logarithm_(spec.logarithm), lines_{spec.x.shape[spec.axis],
                                           lying(spec.x).past(lying_axis(spec.x, spec.axis) + 1)},
        count_(lines_of(spec.x.shape, spec.axis)) {
    in = {feature_ ? spec.x : spec.y};
    if (!feature_) in.push_back(in[0]);
    out = {feature_ ? spec.y : spec.x};
    if (feature_) {
      totals_ = room<LineTotals>(count_);
      sums<SoftmaxLines>(count_, lines_.length);
    } else {
      line_sums_ = room<float>(count_);
      sums<GradientLines>(count_, lines_.length);
    }
    settle_sums();
    kernel = "cuda softmax";
    operations = 5.0 * static_cast<double>(spec.x.count());
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    const Source first{call.in[0], in[0].dtype};
    const Target result{call.out[0], out[0].dtype};
    if (feature_) {
      reduce(stream, count_, lines_.length, SoftmaxLines{lines_, first, totals_.in(call)}, sums_in(call));
      each(stream, out[0].count(), SoftmaxFeature{lines_, logarithm_, first, totals_.in(call), result});
      return;
    }
    const Source dy{call.in[1], in[1].dtype};
    reduce(stream, count_, lines_.length, GradientLines{lines_, logarithm_, first, dy, line_sums_.in(call)},
           sums_in(call));
    each(stream, out[0].count(), SoftmaxGradient{lines_, logarithm_, first, dy, line_sums_.in(call), result});
  }

 private:
  bool feature_, logarithm_;
  Lines lines_;
  std::int64_t count_;
  Room<LineTotals> totals_;
  Room<float> line_sums_;
};

// Weights of labels.
struct Labels {
  const std::int32_t* label;
  const float* class_weights; // may be null
  std::int64_t counted;       // lines
  std::int64_t classes, ignored;
  bool ignores;
  float smoothing;
  Fault* fault;

  // 0 for lines that do not count, and for labels out of range, which are reported.
  DLHOST_BODY float weight(std::int64_t line) const {
    if (line >= counted) return 0;
    const std::int32_t of = label[line];
    if (ignores && of == ignored) return 0;
    if (of < 0 || of >= classes) {
      report(fault, Fault::label, of, line, classes);
      return 0;
    }
    return class_weights ? class_weights[of] : 1.0F;
  }
};

struct LossLines {
  using Sum = Exponentials;
  Lines lines;
  Labels labels;
  Source x;
  LineTotals* totals;
  float *losses, *weights;
  DLHOST_BODY Sum zero() const { return {-INFINITY, 0, 0}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t line, std::int64_t term) const { sum.take(x[lines.place(line, term)]); }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum.join(other); }
  DLHOST_BODY void finish(std::int64_t line, const Sum& sum) const {
    totals[line] = {sum.largest, sum.sum};
    const float weight = labels.weight(line);
    weights[line] = weight;
    losses[line] = 0;
    if (weight == 0) return;
    const float log_sum = sum.largest + std::log(sum.sum);
    float loss = log_sum - (1 - labels.smoothing) * x[lines.place(line, labels.label[line])];
    if (labels.smoothing != 0) loss -= labels.smoothing / static_cast<float>(lines.length) * sum.plain;
    losses[line] = weight * loss;
  }
};

struct LossTotal {
  struct Sum {
    double loss, weight;
  };
  const float *losses, *weights;
  float* total;
  DLHOST_BODY Sum zero() const { return {0, 0}; }
  DLHOST_BODY void take(Sum& sum, std::int64_t, std::int64_t line) const {
    sum.loss += static_cast<double>(losses[line]);
    sum.weight += static_cast<double>(weights[line]);
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const {
    sum.loss += other.loss;
    sum.weight += other.weight;
  }
  DLHOST_BODY void finish(std::int64_t, const Sum& sum) const {
    total[0] = static_cast<float>(sum.loss);
    total[1] = static_cast<float>(sum.weight);
  }
};

struct LossGradient {
  Lines lines;
  Labels labels;
  float factor;
  Source p;
  Target dx;
  DLHOST_BODY void operator()(std::int64_t i) const {
    std::int64_t at = 0;
    const std::int64_t line = lines.take_apart(i, at);
    const float weight = factor * labels.weight(line);
    if (weight == 0) return dx.set(i, 0);
    const float spread = labels.smoothing / static_cast<float>(lines.length);
    const float target = spread + (at == labels.label[line] ? 1 - labels.smoothing : 0);
    dx.set(i, weight * (p[i] - target));
  }
};

class SoftmaxLoss final : public KernelOp {
 public:
  explicit SoftmaxLoss(const SoftmaxLossSpec& spec)
      : feature_(spec.role == Role::feature), smoothing_(static_cast<float>(spec.smoothing)),
        ignored_(spec.ignored), lines_{spec.x.shape[1], spec.x.format == channels_last ? 1 : spec.x.shape.past(2)},
        rows_(spec.x.shape[0]), places_(spec.x.shape.past(2)), count_(rows_ * places_) {
    Shape labels{rows_};
    for (std::size_t axis = 2; axis < spec.x.shape.rank(); ++axis) labels.push_back(spec.x.shape[axis]);
    in = {spec.x, {DType::i32, labels, {}}};
    if (spec.class_weights) in.push_back({DType::f32, {lines_.length}, {}});
    out = {spec.x};
    if (feature_) {
      out.push_back({DType::f32, {2}, {}});
      totals_ = room<LineTotals>(count_);
      losses_ = room<float>(count_);
      weights_ = room<float>(count_);
      sums<LossLines>(count_, lines_.length);
      sums<LossTotal>(1, count_);
      settle_sums();
    }
    kernel = "cuda softmax_loss";
    operations = 5.0 * static_cast<double>(spec.x.count());
  }

 protected:
  void run(WorkStream& stream, const Call& call) override {
    const Labels labels{.label = static_cast<const std::int32_t*>(call.in[1]),
                        .class_weights = in.size() > 2 ? static_cast<const float*>(call.in[2]) : nullptr,
                        .counted = call.counted(rows_) * places_,
                        .classes = lines_.length,
                        .ignored = ignored_.value_or(0),
                        .ignores = ignored_.has_value(),
                        .smoothing = smoothing_,
                        .fault = stream.fault()};
    const Source first{call.in[0], in[0].dtype};
    const Target result{call.out[0], out[0].dtype};
    if (!feature_) {
      if (call.dynamic.scalars.empty()) return stream.fail(Status::invalid("cuda: softmax_loss: no factor is given"));
      return each(stream, out[0].count(), LossGradient{lines_, labels, call.dynamic.scalars[0], first, result});
    }
    float *losses = losses_.in(call), *weights = weights_.in(call);
    reduce(stream, count_, lines_.length, LossLines{lines_, labels, first, totals_.in(call), losses, weights},
           sums_in(call));
    each(stream, out[0].count(), SoftmaxFeature{lines_, false, first, totals_.in(call), result});
    reduce(stream, 1, count_, LossTotal{losses, weights, static_cast<float*>(call.out[1])}, sums_in(call));
  }

 private:
  bool feature_;
  float smoothing_;
  std::optional<std::int64_t> ignored_;
  Lines lines_;
  std::int64_t rows_, places_, count_;
  Room<LineTotals> totals_;
  Room<float> losses_, weights_;
};

} // namespace

Prepared prepare_own(const SoftmaxSpec& wanted) {
  SoftmaxSpec spec = wanted;
  DLHOST_TRY(settle("softmax", spec.x, spec.y));
  if (spec.x.shape != spec.y.shape || spec.axis >= spec.x.shape.rank())
    return Status::invalid("softmax: x ", to_string(spec.x.shape), " and y ", to_string(spec.y.shape),
                           " must have one shape, and it must have axis ", spec.axis);
  return std::unique_ptr<Op>(std::make_unique<Softmax>(spec));
}

Prepared prepare_own(const SoftmaxLossSpec& wanted) {
  SoftmaxLossSpec spec = wanted;
  spec.x = plain_of(spec.x); // if open
  if (spec.x.shape.rank() < 2)
    return Status::invalid("softmax_loss: x is ", to_string(spec.x.shape), ", but must be [n, classes, ...]");
  return std::unique_ptr<Op>(std::make_unique<SoftmaxLoss>(spec));
}

} // namespace dlhost::plugins::cuda
