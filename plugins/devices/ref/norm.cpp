#include "linear.h"
#include "make.h"

namespace dlhost::plugins::ref {

namespace {

// What batch norm and layer norm differ in: which statistic and which scale an element has.
struct Groups {
  bool batch;
  std::int64_t inner, size; // batch: elements behind the channel, channels; layer: 1, elements normalised together
  std::int64_t statistics;

  std::int64_t statistic(std::int64_t i) const { return batch ? i / inner % size : i / size; }
  std::int64_t param(std::int64_t i) const { return batch ? i / inner % size : i % size; }
};

Groups groups_of(const NormSpec& spec) {
  const Shape& x = spec.x.shape;
  if (spec.kind == NormSpec::Kind::batch) return {true, x.past(2), x[1], x[1]};
  const std::int64_t size = x.past(spec.axis);
  return {false, 1, size, x.count() / size};
}

// Where the gradient would need the sum that the addend went into, nobody has it any more.
bool takes_epilogue(const NormSpec& spec) {
  const auto& pointwise = spec.epilogue.pointwise;
  return !pointwise || (is_simple(*pointwise) && (pointwise->from_output || !spec.epilogue.add));
}

template <class T> class Norm : public Loops<T> {
 public:
  Norm(const NormSpec& given, const Manner& manner, const Choice& choice)
      : Loops<T>(manner), spec_(given), groups_(groups_of(given)), block_rows_(choice.block_samples) {
    this->epilogue_taken = takes_epilogue(given);
    if (!this->epilogue_taken) {
      spec_.epilogue = {};
      this->remark = "the epilogue's gradient would need the sum before it";
    }
    if (const auto& pointwise = spec_.epilogue.pointwise) slope_.emplace(pointwise->gradient);
    finish_.emplace(spec_.epilogue);
    const TensorDesc param = f32_of(groups_.batch ? Shape{groups_.size} : trailing());
    const TensorDesc statistic = f32_of(Shape{groups_.statistics});
    if (spec_.role == Role::feature)
      operands(param, statistic);
    else
      gradient_operands(param, statistic);
    const std::int64_t widest = std::max(groups_.statistics, groups_.size);
    sums_ = this->template room<T>(2 * widest);
    partials_ = this->template room<T>(partials_size(rows(), block_rows_, widest));
  }

  Status compute(const Call& call) override {
    counted_ = groups_.batch ? counted_rows(call, rows()) : rows();
    if (spec_.role == Role::feature)
      feature(call);
    else
      gradient(call);
    return {};
  }

 private:
  Shape trailing() const { return Shape(std::span(spec_.x.shape.begin() + spec_.axis, spec_.x.shape.end())); }
  std::int64_t rows() const { return spec_.x.shape[0]; }
  T per_statistic() const {
    const std::int64_t elements = groups_.batch ? counted_ * groups_.inner : groups_.size;
    return static_cast<T>(std::max<std::int64_t>(elements, 1));
  }

  void operands(const TensorDesc& param, const TensorDesc& statistic) {
    x_ = this->takes(spec_.x);
    scale_ = this->takes(param);
    shift_ = this->takes(param);
    if (spec_.given_statistics) {
      mean_ = this->takes(statistic);
      variance_ = this->takes(statistic);
    }
    y_ = this->gives(spec_.y);
    if (spec_.epilogue.add) addend_ = this->takes(y_.desc);
    if (spec_.given_statistics) return;
    mean_ = this->gives(statistic);
    variance_ = this->gives(statistic);
  }

  void gradient_operands(const TensorDesc& param, const TensorDesc& statistic) {
    x_ = this->takes(spec_.x);
    dy_ = this->takes(spec_.y);
    scale_ = this->takes(param);
    shift_ = this->takes(param);
    mean_ = this->takes(statistic);
    variance_ = this->takes(statistic);
    if (from_output()) y_ = this->takes(spec_.y);
    dx_ = this->gives(spec_.x);
    dscale_ = this->gives(param);
    dshift_ = this->gives(param);
    if (spec_.epilogue.add) daddend_ = this->gives(dy_.desc);
  }

  bool from_output() const { return spec_.epilogue.pointwise && spec_.epilogue.pointwise->from_output; }

  // Sums value(i) over the rows that count, by the group that `of` gives.
  template <class Of, class Value> void sum(const Call& call, T* into, std::int64_t size, Of&& of, Value&& value) {
    const std::int64_t row = spec_.x.shape.past(1);
    sum_in_blocks(rows(), block_rows_, size, into, partials_.in(call),
                  [&](std::int64_t first, std::int64_t last, T* sums) {
                    for (std::int64_t i = first * row; i < std::min(last, counted_) * row; ++i) sums[of(i)] += value(i);
                  });
  }

  void feature(const Call& call) {
    const T *x = x_.read(call), *scale = scale_.read(call), *shift = shift_.read(call);
    T *mean = mean_.fresh(call), *variance = variance_.fresh(call);
    const auto statistic = [&](std::int64_t i) { return groups_.statistic(i); };
    if (spec_.given_statistics) {
      mean_.read(call);
      variance_.read(call);
    } else {
      sum(call, mean, groups_.statistics, statistic, [&](std::int64_t i) { return x[i]; });
      for (std::int64_t s = 0; s < groups_.statistics; ++s) mean[s] /= per_statistic();
      sum(call, variance, groups_.statistics, statistic, [&](std::int64_t i) {
        const T distance = x[i] - mean[groups_.statistic(i)];
        return distance * distance;
      });
      for (std::int64_t s = 0; s < groups_.statistics; ++s) variance[s] /= per_statistic();
      mean_.write(call);
      variance_.write(call);
    }
    T* y = y_.fresh(call);
    for (std::int64_t i = 0; i < spec_.x.count(); ++i) {
      const std::int64_t s = groups_.statistic(i), p = groups_.param(i);
      y[i] = (x[i] - mean[s]) * inverse(variance[s]) * scale[p] + shift[p];
    }
    (*finish_)(y, spec_.x.count(), addend_ ? addend_->read(call) : nullptr);
    y_.write(call);
  }

  T inverse(T variance) const { return 1 / std::sqrt(variance + static_cast<T>(spec_.epsilon)); }

  // dy becomes the gradient before the epilogue, and x the normalised x.
  void undo(const Call& call, T* x, T* dy) {
    const T *scale = scale_.read(call), *shift = shift_.read(call);
    const T *mean = mean_.read(call), *variance = variance_.read(call);
    const T* y = from_output() ? y_.read(call) : nullptr;
    for (std::int64_t i = 0; i < spec_.x.count(); ++i) {
      const std::int64_t s = groups_.statistic(i), p = groups_.param(i);
      x[i] = (x[i] - mean[s]) * inverse(variance[s]);
      if (slope_) dy[i] *= slope_->of(y ? y[i] : x[i] * scale[p] + shift[p]);
    }
    if (!daddend_) return;
    std::copy_n(dy, spec_.x.count(), daddend_->fresh(call));
    daddend_->write(call);
  }

  void gradient(const Call& call) {
    T *x = x_.read(call), *dy = dy_.read(call);
    undo(call, x, dy);
    const auto param = [&](std::int64_t i) { return groups_.param(i); };
    const auto statistic = [&](std::int64_t i) { return groups_.statistic(i); };
    sum(call, dscale_.fresh(call), groups_.size, param, [&](std::int64_t i) { return dy[i] * x[i]; });
    sum(call, dshift_.fresh(call), groups_.size, param, [&](std::int64_t i) { return dy[i]; });
    dscale_.write(call);
    dshift_.write(call);
    const T *scale = scale_.fresh(call), *variance = variance_.fresh(call);
    T *means = sums_.in(call), *slopes = means + groups_.statistics;
    sum(call, means, groups_.statistics, statistic, [&](std::int64_t i) { return dy[i] * scale[groups_.param(i)]; });
    sum(call, slopes, groups_.statistics, statistic,
        [&](std::int64_t i) { return dy[i] * x[i] * scale[groups_.param(i)]; });
    T* dx = dx_.fresh(call);
    const std::int64_t row = spec_.x.shape.past(1);
    for (std::int64_t i = 0; i < spec_.x.count(); ++i) {
      const std::int64_t s = groups_.statistic(i);
      T inner = dy[i] * scale[groups_.param(i)];
      if (!spec_.given_statistics && i / row < counted_) inner -= (means[s] + x[i] * slopes[s]) / per_statistic();
      dx[i] = inner * inverse(variance[s]);
    }
    dx_.write(call);
  }

  NormSpec spec_;
  Groups groups_;
  std::int64_t block_rows_;
  std::int64_t counted_ = 0; // rows of the run in progress
  std::optional<Finish<T>> finish_;
  std::optional<Evaluation<T>> slope_;
  Operand<T> x_, y_, dy_, dx_, scale_, shift_, dscale_, dshift_, mean_, variance_;
  std::optional<Operand<T>> addend_, daddend_;
  Room<T> sums_, partials_;
};

} // namespace

MadeOp make_op(const NormSpec& spec, const Manner& manner, const Choice& choice) {
  const bool batch = spec.kind == NormSpec::Kind::batch;
  const std::size_t rank = spec.x.shape.rank();
  if (spec.x.shape != spec.y.shape || rank < 2 || (!batch && (spec.axis < 1 || spec.axis >= rank)))
    return Status::invalid("norm: x ", to_string(spec.x.shape), " and y ", to_string(spec.y.shape),
                           " must have one shape, [n, c, ...]; layer norm is over axes from 1 or more on");
  if (!batch && spec.given_statistics) return Status::invalid("norm: layer norm makes its statistics itself");
  auto op = in_its_type<Norm>(spec, manner, choice);
  op->operations = static_cast<double>(spec.x.count()) * (spec.role == Role::feature ? 6 : 12);
  return op;
}

} // namespace dlhost::plugins::ref
