// A CUDA graph. Each piece is a child graph, one after the other, and the runtime can replace it by one of the same
// form. So the content of a piece, own kernels or a library's, need not be known.
#pragma once

#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include "kernels/graph.h"

namespace dlhost::plugins::cuda {

// Held while a stream captures: a wait for the whole GPU, in any thread, would fail and end the capture.
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
  cudaGraphExec_t executable_ = nullptr; // after complete()
  std::vector<cudaGraphNode_t> pieces_;  // null: launches nothing
  cudaGraphNode_t last_ = nullptr;
  std::uint32_t* samples_ = nullptr; // pinned
  cudaEvent_t launched_ = nullptr;   // recorded after the last launch, if there are samples
};

} // namespace dlhost::plugins::cuda
