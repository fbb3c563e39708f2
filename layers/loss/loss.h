// Shared by all losses. A loss has output 0 "loss", f32 [2] {sum over the counted samples, their weight}, from which
// the metric "loss" is computed; its gradient is that of
//   weight / global_batch * (sum over the batch's valid samples of the sample's loss),
// so that the contributions of batches, micro-batches and replicas add up without further averaging. Losses compute in
// f32, in whatever dtype the features are.
#pragma once

#include <vector>

#include <dlhost/layer.h>
#include <dlhost/schema.h>

namespace dlhost::plugins {

struct LossOptions {
  double weight = 1;
};

template <class Options> SchemaOf<Options> weighted(SchemaOf<Options> schema) {
  return schema.option("weight", static_cast<double Options::*>(&LossOptions::weight),
                       "factor on this loss' gradient, for nets with several losses");
}

inline void declare_loss(Setup& s) {
  s.output("loss", TensorDesc{DType::f32, {2}, {}});
  s.metric({.name = "loss", .output = 0});
  s.is_loss = true;
}

// Checks that labels and targets are given: no learning layer may produce them.
inline Status expect_given(const Prepare& p, std::size_t input) {
  if (!p.wants_input_gradient(input)) return {};
  return Status::unsupported("source ", std::to_string(input + 1),
                             " learns, but this loss has a gradient for its first source only");
}

// The factor on the gradient of a loss that is the mean over `places` places of each sample.
inline float gradient_factor(double weight, const Pass& pass, std::int64_t places) {
  return static_cast<float>(weight * pass.loss_scale /
                            (static_cast<double>(pass.global_batch) * static_cast<double>(places)));
}

// A constant tensor on the layer's device.
inline Result<Memory> constant(Device& device, const std::vector<float>& values) {
  const std::size_t bytes = values.size() * sizeof(float);
  DLHOST_ASSIGN(auto memory, Memory::make(device, bytes));
  DLHOST_ASSIGN(auto stream, device.stream());
  DLHOST_TRY(device.copy(*stream, memory.data(), values.data(), bytes, Direction::from_host));
  DLHOST_TRY(stream->wait());
  return memory;
}

} // namespace dlhost::plugins
