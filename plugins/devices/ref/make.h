// One maker for each spec. Errors: what in the spec does not fit.
#pragma once

#include <memory>

#include <dlhost/ops.h>

#include "op.h"

namespace dlhost::plugins::ref {

using MadeOp = Result<std::unique_ptr<RefOp>>;

MadeOp make_op(const GemmSpec&, const Manner&, const Choice&);
MadeOp make_op(const ConvSpec&, const Manner&, const Choice&);
MadeOp make_op(const PoolSpec&, const Manner&, const Choice&);
MadeOp make_op(const NormSpec&, const Manner&, const Choice&);
MadeOp make_op(const LrnSpec&, const Manner&, const Choice&);
MadeOp make_op(const GatherSpec&, const Manner&, const Choice&);
MadeOp make_op(const SoftmaxSpec&, const Manner&, const Choice&);
MadeOp make_op(const SoftmaxLossSpec&, const Manner&, const Choice&);
MadeOp make_op(const MapSpec&, const Manner&, const Choice&);
MadeOp make_op(const ReorderSpec&, const Manner&, const Choice&);
MadeOp make_op(const TransposeSpec&, const Manner&, const Choice&);
MadeOp make_op(const BoxSpec&, const Manner&, const Choice&);

// An op in the type that the device computes in.
template <template <class> class Kernel, class Spec>
std::unique_ptr<RefOp> in_its_type(const Spec& spec, const Manner& manner, const Choice& choice) {
  if (manner.wide) return std::make_unique<Kernel<double>>(spec, manner, choice);
  return std::make_unique<Kernel<float>>(spec, manner, choice);
}

} // namespace dlhost::plugins::ref
