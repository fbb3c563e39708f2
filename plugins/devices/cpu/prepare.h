// The ops of this device, one function for each spec. Thread: any, while a program is prepared. Ops keep no references.
#pragma once

#include <memory>

#include <dlhost/ops.h>

namespace dlhost::plugins::cpu {

using Prepared = Result<std::unique_ptr<Op>>;

// A prepare function's arguments besides the spec.
struct Request {
  Choice choice;
  int threads = 1; // of the op's runs
};

Prepared prepare(const GemmSpec&, const Request&);
Prepared prepare(const ConvSpec&, const Request&);
Prepared prepare(const PoolSpec&, const Request&);
Prepared prepare(const NormSpec&, const Request&);
Prepared prepare(const LrnSpec&, const Request&);
Prepared prepare(const GatherSpec&, const Request&);
Prepared prepare(const TransposeSpec&, const Request&);
Prepared prepare(const MapSpec&, const Request&);
Prepared prepare(const SoftmaxSpec&, const Request&);
Prepared prepare(const SoftmaxLossSpec&, const Request&);
Prepared prepare(const ReorderSpec&, const Request&);
Prepared prepare(const BoxSpec&, const Request&);

} // namespace dlhost::plugins::cpu
