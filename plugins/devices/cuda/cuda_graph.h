// A graph of CUDA's. Each piece is a graph within it, one behind the other, which the runtime puts another one of the
// same form in the place of: so it need not be known what a piece is made of, ours or a library's.
#pragma once

#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include "kernels/graph.h"

namespace dlhost::plugins::cuda {

// Held while a stream keeps what it is given: a wait for the whole GPU would end that, and fail, in any thread.
std::unique_lock<std::mutex> no_other_capture();

class CudaGraph final : public Graph {
 public:
  explicit CudaGraph(cudaStream_t stream) : stream_(stream) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override;

  Result<std::uint32_t*> room_for_samples(std::size_t count) override;
  Status rest() override;
  Status begin() override;
  Status end(std::size_t which) override;
  Status complete() override;
  Status launch() override;

 private:
  Status add(cudaGraph_t piece, bool empty);
  Status replace(std::size_t which, cudaGraph_t piece, bool empty);

  cudaStream_t stream_;
  std::unique_lock<std::mutex> alone_; // from begin to end
  cudaGraph_t whole_ = nullptr;
  cudaGraphExec_t executable_ = nullptr; // when it is complete
  std::vector<cudaGraphNode_t> pieces_;  // null: it launches nothing
  cudaGraphNode_t last_ = nullptr;
  std::uint32_t* samples_ = nullptr; // pinned
  cudaEvent_t launched_ = nullptr;   // where there are samples: behind the last launch
};

} // namespace dlhost::plugins::cuda
