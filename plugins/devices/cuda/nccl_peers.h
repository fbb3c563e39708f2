// Sums among GPUs by NCCL: within a machine and between machines, in one process or several. The library is opened only
// when a job asks for it: it has 200 MB, and a machine with one GPU needs none.
#pragma once

#include <memory>
#include <string>

#include <dlhost/partition.h>

namespace dlhost::plugins::cuda {

// Rank 0 makes this token; all ranks join with it.
Result<std::string> convene_nccl();
// Starts to join; done when all ranks have joined (Peers::ready). The GPU is the calling thread's.
Result<std::unique_ptr<Peers>> join_nccl(const std::string& convened, int rank, int count);

} // namespace dlhost::plugins::cuda
