#include "cuda_graph.h"

#include <algorithm>
#include <memory>

#include "errors.h"

namespace dlhost::plugins::cuda {

namespace {

// Clears the error, so that the next op does not report it.
Status said(cudaError_t error, std::string_view doing) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();
  return status_of(error, doing);
}

} // namespace

std::unique_lock<std::mutex> no_other_capture() {
  static std::mutex one; // for the process, like the GPUs' contexts
  return std::unique_lock(one);
}

CudaGraph::~CudaGraph() {
  rest().ignore("the memory is freed in any case");
  if (executable_) (void)cudaGraphExecDestroy(executable_);
  if (whole_) (void)cudaGraphDestroy(whole_);
  if (launched_) (void)cudaEventDestroy(launched_);
  if (samples_) (void)cudaFreeHost(samples_);
}

Result<std::uint32_t*> CudaGraph::room_for_samples(std::size_t count) {
  if (count == 0) return samples_;
  void* made = nullptr;
  DLHOST_TRY(said(cudaHostAlloc(&made, count * sizeof(std::uint32_t), cudaHostAllocDefault), "pinning host memory"));
  samples_ = static_cast<std::uint32_t*>(made);
  std::fill_n(samples_, count, 0U);
  DLHOST_TRY(said(cudaEventCreateWithFlags(&launched_, cudaEventDisableTiming), "making an event"));
  return samples_;
}

Status CudaGraph::rest() { return launched_ ? said(cudaEventSynchronize(launched_), "waiting for a graph") : Status(); }

// Only this thread's calls are checked: others may allocate and copy.
Status CudaGraph::begin() {
  if (!whole_) DLHOST_TRY(said(cudaGraphCreate(&whole_, 0), "making a graph"));
  alone_ = no_other_capture();
  Status begun = said(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "beginning a graph");
  if (!begun.ok()) alone_.unlock();
  return begun;
}

Status CudaGraph::end(std::size_t which) {
  cudaGraph_t kept = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &kept);
  alone_.unlock();
  const std::unique_ptr<CUgraph_st, cudaError_t (*)(cudaGraph_t)> owner(kept, &cudaGraphDestroy);
  DLHOST_TRY(said(ended, "keeping launches for a graph"));
  std::size_t nodes = 0;
  DLHOST_TRY(said(cudaGraphGetNodes(kept, nullptr, &nodes), "asking for a graph's nodes"));
  return executable_ ? replace(which, kept, nodes == 0) : add(kept, nodes == 0);
}

Status CudaGraph::add(cudaGraph_t piece, bool empty) {
  cudaGraphNode_t& node = pieces_.emplace_back(nullptr);
  if (empty) return {};
  DLHOST_TRY(said(cudaGraphAddChildGraphNode(&node, whole_, last_ ? &last_ : nullptr, last_ ? 1 : 0, piece),
                  "adding to a graph"));
  last_ = node;
  return {};
}

Status CudaGraph::replace(std::size_t which, cudaGraph_t piece, bool empty) {
  if (empty != (pieces_[which] == nullptr)) return Status::unsupported("cuda: a part of a graph changes its form");
  if (empty) return {};
  return said(cudaGraphExecChildGraphNodeSetParams(executable_, pieces_[which], piece), "changing a part of a graph");
}

Status CudaGraph::complete() { return said(cudaGraphInstantiate(&executable_, whole_, 0), "completing a graph"); }

Status CudaGraph::launch() {
  DLHOST_TRY(said(cudaGraphLaunch(executable_, stream_), "launching a graph"));
  return launched_ ? said(cudaEventRecord(launched_, stream_), "recording an event") : Status();
}

} // namespace dlhost::plugins::cuda
