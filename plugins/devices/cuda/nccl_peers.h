// GPUs that sum among themselves, by NCCL: within a machine and between machines, one process or several. The library
// is opened when a job asks for it, and not before: it has 200 MB, and a machine with one GPU needs none.
#pragma once

#include <memory>
#include <string>

#include <dlhost/peers.h>

namespace dlhost::plugins::cuda {

// What rank 0 makes and all join with.
Result<std::string> convene_nccl();
// Begins to join, which is done when all have: Peers::ready says so. The GPU is the calling thread's.
Result<std::unique_ptr<Peers>> join_nccl(const std::string& convened, int rank, int count);

} // namespace dlhost::plugins::cuda
