#include <dlhost/ops.h>

namespace dlhost {

Op::~Op() = default;

std::string_view name_of(const OpSpec& spec) {
  struct Name {
    std::string_view operator()(const GemmSpec&) const { return "gemm"; }
    std::string_view operator()(const ConvSpec&) const { return "conv"; }
    std::string_view operator()(const PoolSpec&) const { return "pool"; }
    std::string_view operator()(const NormSpec&) const { return "norm"; }
    std::string_view operator()(const LrnSpec&) const { return "lrn"; }
    std::string_view operator()(const SoftmaxSpec&) const { return "softmax"; }
    std::string_view operator()(const SoftmaxLossSpec&) const { return "softmax_loss"; }
    std::string_view operator()(const GatherSpec&) const { return "gather"; }
    std::string_view operator()(const MapSpec&) const { return "map"; }
    std::string_view operator()(const ReorderSpec&) const { return "reorder"; }
    std::string_view operator()(const TransposeSpec&) const { return "transpose"; }
    std::string_view operator()(const BoxSpec&) const { return "box"; }
  };
  return std::visit(Name{}, spec);
}

} // namespace dlhost
