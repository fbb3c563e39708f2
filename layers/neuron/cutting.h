// A layer whose outputs are pieces of its input along an axis (slice: one, split: several).
#pragma once

#include <algorithm>

#include "pieces.h"

namespace dlhost::plugins {

class Cutting : public Layer {
 public:
  Status setup(Setup& s) final {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, axis_ + 1));
    const Shape& x = s.input(0);
    DLHOST_ASSIGN(const Places places, cut(x[axis_]));
    dtype_ = kept_dtype(s);
    from_ = places.from;
    count_ = places.sizes.size();
    std::int64_t end = from_;
    for (const std::int64_t size : places.sizes) {
      s.output(count_ == 1 ? "y" : concat("y", s.outputs.size()), TensorDesc{dtype_, x.with(axis_, size), {}});
      end += size;
    }
    covers_ = from_ == 0 && end == x[axis_];
    s.reads = {.inputs = false, .outputs = false};
    s.accumulates = true;
    return {};
  }

  Status prepare(Prepare& p) final {
    x_ = {dtype_, p.input(0).shape, {}};
    p.reads(0, x_);
    std::vector<TensorDesc> y;
    for (std::size_t i = 0; i < count_; ++i) y.push_back({dtype_, p.output(i).shape, {}});
    DLHOST_TRY(cut_.prepare(p, Pieces::Way::cut, Role::feature, x_, axis_, y, from_, every_piece));
    if (!p.training() || !p.wants_input_gradient(0)) return {};
    device_ = &p.device();
    adds_ = p.adds_input_gradient(0);
    return join_.prepare(p, Pieces::Way::join, Role::input_gradient, x_, axis_, y, from_, every_piece, adds_);
  }

  void compute_feature(const Pass& pass, Frame& f) const final {
    for (std::size_t i = 0; i < cut_.count(); ++i) cut_.copy(i, pass, f, f.input(0), f.output(i));
  }

  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const final {
    if (!device_ || !wants_inputs(wanted)) return;
    // An output without a reader has no gradient.
    const bool gaps = !covers_ || std::ranges::count(f.output_gradients.first(count_), nullptr) > 0;
    if (gaps && !adds_)
      device_->fill_zero(*f.stream, f.input_gradient(0), x_.plain_bytes())
          .ignore("a stream keeps its first error for the next wait");
    for (std::size_t i = 0; i < join_.count(); ++i) join_.copy(i, pass, f, f.output_gradient(i), f.input_gradient(0));
  }

 protected:
  struct Places {
    std::int64_t from = 0;
    std::vector<std::int64_t> sizes;
  };
  explicit Cutting(std::int64_t axis) : axis_(static_cast<std::size_t>(axis)) {}
  // How an axis of `length` elements is cut.
  virtual Result<Places> cut(std::int64_t length) const = 0;

 private:
  std::size_t axis_;
  std::int64_t from_ = 0;
  std::size_t count_ = 1;
  bool covers_ = true, adds_ = false;
  DType dtype_ = DType::f32;
  TensorDesc x_;
  Device* device_ = nullptr;
  Pieces cut_, join_;
};

} // namespace dlhost::plugins
