// Shared by gemm and conv: the operands of a role, the bias and the epilogue.
#pragma once

#include <optional>

#include "evaluate.h"
#include "op.h"

namespace dlhost::plugins::ref {

// Can a device fuse it? One input, one result, no draws and no scalars.
inline bool is_simple(const Pointwise& pointwise) {
  const Expression& f = pointwise.feature;
  return f.input_count() <= 1 && f.results().size() == 1 && f.scalar_count() == 0 && !f.draws();
}

// The epilogue that the op fuses: all of it or none.
inline Epilogue taken(const Epilogue& epilogue) {
  return !epilogue.pointwise || is_simple(*epilogue.pointwise) ? epilogue : Epilogue{};
}

// `in` ends with the addend, if any; the result is `out` 0.
template <class T> class Finish {
 public:
  explicit Finish(const Epilogue& epilogue) {
    if (epilogue.pointwise) pointwise_.emplace(epilogue.pointwise->feature);
  }
  void operator()(T* result, std::int64_t count, const T* addend) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (addend) result[i] += addend[i];
      if (pointwise_) result[i] = pointwise_->of(result[i]);
    }
  }

 private:
  std::optional<Evaluation<T>> pointwise_;
};

// `Products` gives the products to sum: each(first sample, last sample, visit(x place, w place, y place)).
template <class T, class Spec, class Products> class Linear : public Loops<T> {
 public:
  Linear(const Spec& spec, Products products, const Manner& manner, const Choice& choice)
      : Loops<T>(manner), role_(spec.role), products_(std::move(products)), finish_(taken(spec.epilogue)),
        channels_(spec.y.shape[1]), rows_(spec.y.shape[0]), block_rows_(choice.block_samples) {
    const bool bias = spec.b.shape.rank() > 0;
    const TensorDesc& result = role_ == Role::feature ? spec.y : role_ == Role::input_gradient ? spec.x : spec.w;
    if (role_ != Role::input_gradient) x_ = this->takes(spec.x);
    if (role_ != Role::feature) y_ = this->takes(spec.y);
    if (role_ != Role::param_gradient) w_ = this->takes(spec.w);
    if (role_ == Role::feature && bias) bias_ = this->takes(spec.b);
    result_ = this->gives(result);
    this->epilogue_taken = taken(spec.epilogue).empty() == spec.epilogue.empty();
    if (this->epilogue_taken && spec.epilogue.add) addend_ = this->takes(result_.desc);
    if (role_ == Role::param_gradient) {
      if (bias) bias_ = this->gives(spec.b);
      const std::int64_t largest = std::max(result.count(), channels_);
      partials_ = this->template room<T>(partials_size(rows_, block_rows_, largest));
    }
  }

  Status compute(const Call& call) override {
    switch (role_) {
    case Role::feature: feature(call); break;
    case Role::input_gradient: input_gradient(call); break;
    case Role::param_gradient: param_gradient(call); break;
    }
    finish_(result_.fresh(call), result_.desc.count(), addend_ ? addend_->read(call) : nullptr);
    result_.write(call);
    return {};
  }

 private:
  void feature(const Call& call) {
    const T *x = x_.read(call), *w = w_.read(call);
    T* y = result_.zeroed(call);
    products_.each(0, rows_, [&](std::int64_t xi, std::int64_t wi, std::int64_t yi) { y[yi] += x[xi] * w[wi]; });
    if (!bias_) return;
    const T* b = bias_->read(call);
    const std::int64_t inner = result_.desc.shape.past(2);
    for (std::int64_t i = 0; i < result_.desc.count(); ++i) y[i] += b[i / inner % channels_];
  }

  void input_gradient(const Call& call) {
    const T *dy = y_.read(call), *w = w_.read(call);
    T* dx = result_.zeroed(call);
    products_.each(0, rows_, [&](std::int64_t xi, std::int64_t wi, std::int64_t yi) { dx[xi] += dy[yi] * w[wi]; });
  }

  void param_gradient(const Call& call) {
    const T *x = x_.read(call), *dy = y_.read(call);
    T* partials = partials_.in(call);
    sum_in_blocks(rows_, block_rows_, result_.desc.count(), result_.fresh(call), partials,
                  [&](std::int64_t first, std::int64_t last, T* dw) {
                    products_.each(first, last, [&](std::int64_t xi, std::int64_t wi, std::int64_t yi) {
                      dw[wi] += x[xi] * dy[yi];
                    });
                  });
    if (!bias_) return;
    const std::int64_t inner = y_.desc.shape.past(2), row = y_.desc.shape.past(1);
    sum_in_blocks(rows_, block_rows_, channels_, bias_->fresh(call), partials,
                  [&](std::int64_t first, std::int64_t last, T* db) {
                    for (std::int64_t i = first * row; i < last * row; ++i) db[i / inner % channels_] += dy[i];
                  });
    bias_->write(call);
  }

  Role role_;
  Products products_;
  Finish<T> finish_;
  std::int64_t channels_, rows_, block_rows_;
  Operand<T> x_, w_, y_, result_;
  std::optional<Operand<T>> bias_, addend_;
  Room<T> partials_;
};

} // namespace dlhost::plugins::ref
