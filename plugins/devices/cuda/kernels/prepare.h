// The device's own kernels, one function for each spec.
// Thread: any task, while a program is prepared. Ops keep no reference to anything else.
#pragma once

#include <memory>

#include <dlhost/ops.h>

#include "elements.h"
#include "format.h"
#include "work.h"

namespace dlhost::plugins::cuda {

using Prepared = Result<std::unique_ptr<Op>>;

// Loops without a library: for specs that cuBLASLt and cuDNN decline. Open formats of a convolution become `liked`.
Prepared prepare_direct(const GemmSpec&);
Prepared prepare_direct(const ConvSpec&, Format liked);

Prepared prepare_own(const PoolSpec&);
Prepared prepare_own(const NormSpec&);
Prepared prepare_own(const LrnSpec&);
Prepared prepare_own(const SoftmaxSpec&);
Prepared prepare_own(const SoftmaxLossSpec&);
Prepared prepare_own(const GatherSpec&);
// Null compiler: the expression is interpreted.
Prepared prepare_own(const MapSpec&, ElementCompiler* = nullptr);
Prepared prepare_own(const ReorderSpec&);
Prepared prepare_own(const TransposeSpec&);
Prepared prepare_own(const BoxSpec&);

// Does the op sum over samples, in an order that `reproducible` fixes? This device makes no such trees yet.
bool sums_over_samples(const OpSpec&);

} // namespace dlhost::plugins::cuda
