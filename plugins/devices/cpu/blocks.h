// For `reproducible`: splits an op over a batch into one op for each block of samples. Each runs on one thread with the
// same number of samples, so that a sample's results have the same bits on every thread and beside any other samples.
// Sums over samples are added in a fixed tree of the blocks. The threads divide the blocks.
#pragma once

#include <functional>

#include "prepare.h"

namespace dlhost::plugins::cpu {

// Whether the bits of the op's results depend on its number of samples or its threads.
bool depends_on_batch(const OpSpec&);

using PrepareOne = std::function<Prepared(const OpSpec&, const Request&)>;
// Prepares such an op for request.choice.block_samples.
Prepared prepare_in_blocks(const OpSpec&, const Request&, const PrepareOne&);

} // namespace dlhost::plugins::cpu
