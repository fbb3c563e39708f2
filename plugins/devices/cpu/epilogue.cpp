#include "epilogue.h"

namespace dlhost::plugins::cpu {
namespace {

struct Eltwise {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0;
};

Eltwise eltwise_of(const Pointwise& pointwise) {
  const auto alpha = static_cast<float>(pointwise.alpha);
  switch (pointwise.known) {
  case Known::relu: return {dnnl::algorithm::eltwise_relu, 0};
  case Known::leaky_relu: return {dnnl::algorithm::eltwise_relu, alpha};
  case Known::elu: return {dnnl::algorithm::eltwise_elu, alpha};
  case Known::logistic: return {dnnl::algorithm::eltwise_logistic, 0};
  case Known::tanh: return {dnnl::algorithm::eltwise_tanh, 0};
  case Known::softplus: return {dnnl::algorithm::eltwise_soft_relu, 1};
  case Known::gelu: return {dnnl::algorithm::eltwise_gelu_erf, 0};
  case Known::silu: return {dnnl::algorithm::eltwise_swish, 1};
  case Known::none: break;
  }
  return {};
}

} // namespace

std::string add_epilogue(const Epilogue& epilogue, dnnl::primitive_attr& attributes) {
  if (epilogue.empty()) return {};
  dnnl::post_ops chain;
  if (epilogue.add) chain.append_sum(1.0F);
  if (epilogue.pointwise) {
    const auto eltwise = eltwise_of(*epilogue.pointwise);
    if (eltwise.algorithm == dnnl::algorithm::undef)
      return "not fused: oneDNN has no " + to_string(epilogue.pointwise->feature);
    chain.append_eltwise(eltwise.algorithm, eltwise.alpha, 0.0F);
  }
  attributes.set_post_ops(chain);
  return {};
}

void refuse_epilogue(const Epilogue& epilogue, Op& op) {
  if (epilogue.empty()) return;
  op.epilogue_taken = false;
  op.remark = "not fused: oneDNN's gradients take no epilogue";
}

} // namespace dlhost::plugins::cpu
