// The base class of pointwise layers: a neuron declares its expression, and this class makes a layer of it that every
// device computes, in place or fused into the op before it.
#pragma once

#include <memory>

#include <dlhost/layer.h>

namespace dlhost {

class DLHOST_API Neuron : public Layer {
 public:
  Status setup(Setup&) final;
  Status prepare(Prepare&) final;
  void compute_feature(const Pass&, Frame&) const final;
  void compute_gradient(const Pass&, Frame&, Wanted) const final;

 protected:
  // y as a function of x (input 0). If `gradient` has no result, core derives it from `feature`.
  virtual Pointwise pointwise() const = 0;

 private:
  Pointwise function_;
  std::unique_ptr<Op> feature_;
  std::unique_ptr<Op> gradient_;
};

// The gradient op of a pointwise: in {x or y, dy} out {dx}.
DLHOST_API MapSpec gradient_of(const Pointwise&, const TensorDesc&);

} // namespace dlhost
