// The two kinds of norm.
#pragma once

#include "map/kernels.h"
#include "prepare.h"

namespace dlhost::plugins::cpu {

Prepared prepare_batch_norm(const NormSpec&);
Prepared prepare_layer_norm(const NormSpec&, const Request&);

} // namespace dlhost::plugins::cpu
