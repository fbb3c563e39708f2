// What all losses have in common. A loss gives output 0 "loss", f32 [2] {sum over the samples that count, their
// weight}, from which the metric "loss" is made; its gradient is that of
//   weight / global_batch * (sum over the batch's valid samples of the sample's loss),
// so that the contributions of batches, micro-batches and replicas add up and nothing is averaged twice.
// Losses compute in f32 whatever the features are in.
#pragma once

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

// The factor on a gradient whose loss is the mean over `positions` elements or places of each sample.
inline float gradient_factor(const LossOptions& options, const Pass& pass, std::int64_t positions) {
  return static_cast<float>(options.weight / (static_cast<double>(pass.global_batch) * static_cast<double>(positions)));
}

} // namespace dlhost::plugins
