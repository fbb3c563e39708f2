// A pointwise layer of several inputs (add, multiply). Inputs may have axes of 1, which are repeated; their gradients
// are then summed over those axes. Equal shapes are computed in the format of the first producer.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include <dlhost/layer.h>

namespace dlhost::plugins {

inline bool all_alike(const Setup& s) {
  for (std::size_t i = 1; i < s.inputs.size(); ++i)
    if (s.input(i) != s.input(0)) return false;
  return true;
}

inline Result<Shape> broadcast_shape(const Setup& s) {
  Shape y = s.input(0);
  for (std::size_t i = 1; i < s.inputs.size(); ++i) {
    const Shape& x = s.input(i);
    bool fits = x.rank() == y.rank() && x[0] == y[0];
    for (std::size_t axis = 1; fits && axis < y.rank(); ++axis) {
      fits = x[axis] == y[axis] || x[axis] == 1 || y[axis] == 1;
      if (y[axis] == 1) y[axis] = x[axis];
    }
    if (!fits)
      return Status::invalid("takes sources of one shape, up to axes of 1 that are repeated, but ", s.inputs[0].name,
                             " is ", to_string(s.input(0)), " and ", s.inputs[i].name, " is ", to_string(x));
  }
  return y;
}

class Broadcast {
 public:
  // Settles the forms and prepares y = `feature` of the inputs.
  Status prepare(Prepare& p, std::size_t count, const std::function<void(Expression&)>& feature) {
    alike_ = true;
    for (std::size_t i = 0; i < count; ++i) alike_ = alike_ && p.input(i).shape == p.output(0).shape;
    y_ = alike_ ? p.input(0).as(p.compute()) : TensorDesc{p.compute(), p.output(0).shape, {}};
    MapSpec spec;
    feature(spec.expression);
    for (std::size_t i = 0; i < count; ++i) {
      spec.in.push_back(input(p, i));
      p.reads(i, spec.in.back());
    }
    spec.out = {y_};
    p.gives(0, y_);
    DLHOST_ASSIGN(feature_, p.op(spec));
    return {};
  }

  TensorDesc input(Prepare& p, std::size_t i) const {
    return alike_ ? y_ : TensorDesc{p.compute(), p.input(i).shape, {}};
  }
  const TensorDesc& output() const { return y_; }

  void compute_feature(const Pass& pass, Frame& f, std::size_t count) const {
    void* y = f.output(0);
    feature_->execute(*f.stream, f.inputs.first(count), {&y, 1}, f.scratch, f.dynamic(pass));
  }

 private:
  bool alike_ = true;
  TensorDesc y_;
  std::unique_ptr<Op> feature_;
};

} // namespace dlhost::plugins
