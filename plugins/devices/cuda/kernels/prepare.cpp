#include "prepare.h"

namespace dlhost::plugins::cuda {

namespace {

struct SumsOverSamples {
  bool operator()(const GemmSpec& spec) const { return spec.role == Role::param_gradient; }
  bool operator()(const ConvSpec& spec) const { return spec.role == Role::param_gradient; }
  bool operator()(const NormSpec& spec) const {
    return spec.role != Role::feature || (spec.kind == NormSpec::Kind::batch && !spec.given_statistics);
  }
  bool operator()(const SoftmaxLossSpec& spec) const { return spec.role == Role::feature; }
  bool operator()(const GatherSpec& spec) const { return spec.role == Role::param_gradient; }
  bool operator()(const MapSpec& spec) const { return spec.rows; }
  template <class Spec> bool operator()(const Spec&) const { return false; }
};

} // namespace

bool sums_over_samples(const OpSpec& spec) { return std::visit(SumsOverSamples{}, spec); }

} // namespace dlhost::plugins::cuda
