// A layer that gives its source's elements another shape, without computing or copying.
#pragma once

#include <dlhost/layer.h>

namespace dlhost::plugins {

class View : public Layer {
 public:
  Status setup(Setup& s) final {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 2));
    DLHOST_ASSIGN(const Shape y, shape(s.input(0)));
    s.output("y", TensorDesc{s.inputs[0].desc.dtype, y, {}});
    s.is_view = true;
    s.in_place = true;
    s.reads = {.inputs = false, .outputs = false};
    return {};
  }

  // Only a plain tensor has its elements in the order that another shape needs.
  Status prepare(Prepare& p) final {
    p.reads(0, p.input(0).as(Format::plain()));
    return {};
  }

  void compute_feature(const Pass&, Frame&) const final {}
  void compute_gradient(const Pass&, Frame&, Wanted) const final {}

 protected:
  // A shape with as many elements as x.
  virtual Result<Shape> shape(const Shape& x) const = 0;
};

} // namespace dlhost::plugins
