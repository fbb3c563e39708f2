#include "linear.h"
#include "make.h"

namespace dlhost::plugins::ref {

namespace {

// The grouping of a kind of norm: the statistic and the scale of each element.
struct Groups {
  bool by_channel, across_samples; // params; statistics
  std::int64_t inner;              // elements of one channel of a sample
  std::int64_t channels;           // of x
  std::int64_t together;           // neighbours that share a statistic, if samples do not

  std::int64_t statistic(std::int64_t i) const { return across_samples ? param(i) : i / together; }
  std::int64_t param(std::int64_t i) const { return by_channel ? i / inner % channels : i % together; }
};

Groups groups_of(const NormSpec& spec) {
  const bool batch = spec.kind == NormSpec::Kind::batch, group = spec.kind == NormSpec::Kind::group;
  const Shape& x = spec.x.shape;
  return {batch || group, batch, x.past(2), x[1], x.count() / spec.statistics().count()};
}

// Declines if the gradient needs the sum with the addend: it is not stored.
bool takes_epilogue(const NormSpec& spec) {
  const auto& pointwise = spec.epilogue.pointwise;
  return !pointwise || (is_simple(*pointwise) && (pointwise->from_output || !spec.epilogue.add));
}

template <class T> class Norm : public Loops<T> {
 public:
  Norm(const NormSpec& given, const Manner& manner, const Choice& choice)
      : Loops<T>(manner), spec_(given), groups_(groups_of(given)), rms_(given.kind == NormSpec::Kind::rms),
        params_(given.params().count()), statistics_(given.statistics().count()), block_rows_(choice.block_samples) {
    this->epilogue_taken = takes_epilogue(given);
    if (!this->epilogue_taken) {
      spec_.epilogue = {};
      this->remark = "the epilogue's gradient would need the sum before it";
    }
    if (const auto& pointwise = spec_.epilogue.pointwise) slope_.emplace(pointwise->gradient);
    finish_.emplace(spec_.epilogue);
    const TensorDesc param = f32_of(given.params()), statistic = f32_of(given.statistics());
    if (spec_.role == Role::feature)
      operands(param, statistic);
    else
      gradient_operands(param, statistic);
    const std::int64_t widest = std::max(statistics_, params_);
    sums_ = this->template room<T>(2 * widest);
    partials_ = this->template room<T>(partials_size(rows(), block_rows_, widest));
  }

  Status compute(const Call& call) override {
    counted_ = groups_.across_samples ? counted_rows(call, rows()) : rows();
    if (spec_.role == Role::feature)
      feature(call);
    else
      gradient(call);
    return {};
  }

 private:
  std::int64_t rows() const { return spec_.x.shape[0]; }
  T per_statistic() const {
    const std::int64_t elements = groups_.across_samples ? counted_ * groups_.inner : groups_.together;
    return static_cast<T>(std::max<std::int64_t>(elements, 1));
  }

  void operands(const TensorDesc& param, const TensorDesc& statistic) {
    x_ = this->takes(spec_.x);
    scale_ = this->takes(param);
    if (!rms_) shift_ = this->takes(param);
    if (spec_.given_statistics) {
      mean_ = this->takes(statistic);
      variance_ = this->takes(statistic);
    }
    y_ = this->gives(spec_.y);
    if (spec_.epilogue.add) addend_ = this->takes(y_.desc);
    if (spec_.given_statistics) return;
    if (!rms_) mean_ = this->gives(statistic);
    variance_ = this->gives(statistic);
  }

  void gradient_operands(const TensorDesc& param, const TensorDesc& statistic) {
    x_ = this->takes(spec_.x);
    dy_ = this->takes(spec_.y);
    scale_ = this->takes(param);
    if (!rms_) shift_ = this->takes(param);
    if (!rms_) mean_ = this->takes(statistic);
    variance_ = this->takes(statistic);
    if (from_output()) y_ = this->takes(spec_.y);
    dx_ = this->gives(spec_.x);
    dscale_ = this->gives(param);
    if (!rms_) dshift_ = this->gives(param);
    if (spec_.epilogue.add) daddend_ = this->gives(dy_.desc);
  }

  bool from_output() const { return spec_.epilogue.pointwise && spec_.epilogue.pointwise->from_output; }

  // Sums value(i) over the rows that count, by the group `of(i)`.
  template <class Of, class Value> void sum(const Call& call, T* into, std::int64_t size, Of&& of, Value&& value) {
    const std::int64_t row = spec_.x.shape.past(1);
    sum_in_blocks(rows(), block_rows_, size, into, partials_.in(call),
                  [&](std::int64_t first, std::int64_t last, T* sums) {
                    for (std::int64_t i = first * row; i < std::min(last, counted_) * row; ++i) sums[of(i)] += value(i);
                  });
  }

  void feature(const Call& call) {
    const T* x = x_.read(call);
    if (spec_.given_statistics) {
      mean_->read(call);
      variance_.read(call);
    } else {
      make_statistics(call, x);
    }
    const Numbers n = numbers(call);
    T* y = y_.fresh(call);
    for (std::int64_t i = 0; i < spec_.x.count(); ++i)
      y[i] = n.scaled(n.normalised(x[i], groups_.statistic(i)), groups_.param(i));
    (*finish_)(y, spec_.x.count(), addend_ ? addend_->read(call) : nullptr);
    y_.write(call);
  }

  void make_statistics(const Call& call, const T* x) {
    T *mean = mean_ ? mean_->fresh(call) : nullptr, *variance = variance_.fresh(call);
    const auto statistic = [&](std::int64_t i) { return groups_.statistic(i); };
    if (mean) {
      sum(call, mean, statistics_, statistic, [&](std::int64_t i) { return x[i]; });
      for (std::int64_t s = 0; s < statistics_; ++s) mean[s] /= per_statistic();
      mean_->write(call);
    }
    sum(call, variance, statistics_, statistic, [&](std::int64_t i) {
      const T distance = mean ? x[i] - mean[groups_.statistic(i)] : x[i];
      return distance * distance;
    });
    for (std::int64_t s = 0; s < statistics_; ++s) variance[s] /= per_statistic();
    variance_.write(call);
  }

  // The statistics and params of the norm.
  struct Numbers {
    const T *mean, *variance, *scale, *shift; // mean and shift may be null
    T epsilon;

    T inverse(std::int64_t s) const { return 1 / std::sqrt(variance[s] + epsilon); }
    T normalised(T x, std::int64_t s) const { return (mean ? x - mean[s] : x) * inverse(s); }
    T scaled(T x, std::int64_t p) const { return shift ? x * scale[p] + shift[p] : x * scale[p]; }
  };
  // Requires: the statistics are computed.
  Numbers numbers(const Call& call) const {
    return {mean_ ? mean_->room.in(call) : nullptr, variance_.room.in(call), scale_.read(call),
            shift_ ? shift_->read(call) : nullptr, static_cast<T>(spec_.epsilon)};
  }

  // Replaces dy by the gradient before the epilogue, and x by the normalised x.
  void undo(const Call& call, const Numbers& n, T* x, T* dy) {
    const T* y = from_output() ? y_.read(call) : nullptr;
    for (std::int64_t i = 0; i < spec_.x.count(); ++i) {
      x[i] = n.normalised(x[i], groups_.statistic(i));
      if (slope_) dy[i] *= slope_->of(y ? y[i] : n.scaled(x[i], groups_.param(i)));
    }
    if (!daddend_) return;
    std::copy_n(dy, spec_.x.count(), daddend_->fresh(call));
    daddend_->write(call);
  }

  void gradient(const Call& call) {
    T *x = x_.read(call), *dy = dy_.read(call);
    if (mean_) mean_->read(call);
    variance_.read(call);
    const Numbers n = numbers(call);
    undo(call, n, x, dy);
    const auto param = [&](std::int64_t i) { return groups_.param(i); };
    const auto statistic = [&](std::int64_t i) { return groups_.statistic(i); };
    sum(call, dscale_.fresh(call), params_, param, [&](std::int64_t i) { return dy[i] * x[i]; });
    dscale_.write(call);
    if (dshift_) {
      sum(call, dshift_->fresh(call), params_, param, [&](std::int64_t i) { return dy[i]; });
      dshift_->write(call);
    }
    // The terms of dx through the mean and the variance.
    T *means = sums_.in(call), *slopes = means + statistics_;
    std::fill_n(means, statistics_, T{});
    if (mean_)
      sum(call, means, statistics_, statistic, [&](std::int64_t i) { return dy[i] * n.scale[groups_.param(i)]; });
    sum(call, slopes, statistics_, statistic, [&](std::int64_t i) { return dy[i] * x[i] * n.scale[groups_.param(i)]; });
    T* dx = dx_.fresh(call);
    const std::int64_t row = spec_.x.shape.past(1);
    for (std::int64_t i = 0; i < spec_.x.count(); ++i) {
      const std::int64_t s = groups_.statistic(i);
      T inner = dy[i] * n.scale[groups_.param(i)];
      if (!spec_.given_statistics && i / row < counted_) inner -= (means[s] + x[i] * slopes[s]) / per_statistic();
      dx[i] = inner * n.inverse(s);
    }
    dx_.write(call);
  }

  NormSpec spec_;
  Groups groups_;
  bool rms_;
  std::int64_t params_, statistics_, block_rows_;
  std::int64_t counted_ = 0; // rows of the current run
  std::optional<Finish<T>> finish_;
  std::optional<Evaluation<T>> slope_;
  Operand<T> x_, y_, dy_, dx_, scale_, dscale_;
  Operand<T> variance_; // or the mean square
  std::optional<Operand<T>> mean_, shift_, dshift_, addend_, daddend_;
  Room<T> sums_, partials_;
};

} // namespace

MadeOp make_op(const NormSpec& spec, const Manner& manner, const Choice& choice) {
  DLHOST_TRY(spec.check());
  auto op = in_its_type<Norm>(spec, manner, choice);
  op->operations = static_cast<double>(spec.x.count()) * (spec.role == Role::feature ? 6 : 12);
  return op;
}

} // namespace dlhost::plugins::ref
