// `reproducible`: an op over a batch as one op for each block of its samples. Each is of one thread and sees as many
// samples as all the others, so that a sample's results have the same bits whoever computes it and in whatever company;
// what is summed over samples is added in a fixed tree of the blocks. The blocks go to the threads.
#pragma once

#include <functional>

#include "prepare.h"

namespace dlhost::plugins::cpu {

// Whether bits of its results depend on how many samples an op has at once, or on its threads.
bool depends_on_batch(const OpSpec&);

using PrepareOne = std::function<Prepared(const OpSpec&, const Request&)>;
// Of such an op, for request.choice.block_samples.
Prepared prepare_in_blocks(const OpSpec&, const Request&, const PrepareOne&);

} // namespace dlhost::plugins::cpu
