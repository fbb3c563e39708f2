// A convolution as a cuDNN graph of one node, and the plan that computes it: the fastest on this GPU among the allowed
// proposals of the library's heuristics.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <cudnn.h>

#include <dlhost/ops.h>

#include "measure.h"

namespace dlhost::plugins::cuda {

// Owns a cuDNN descriptor.
class Described {
 public:
  Described() = default;
  static Result<Described> make(cudnnBackendDescriptorType_t);
  Described(Described&& other) noexcept : desc_(std::exchange(other.desc_, nullptr)) {}
  Described& operator=(Described&& other) noexcept {
    std::swap(desc_, other.desc_);
    return *this;
  }
  ~Described();

  cudnnBackendDescriptor_t get() const { return desc_; }
  Status set(cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, std::int64_t count, const void*);
  Status set(cudnnBackendAttributeName_t name, const Described& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.desc_);
  }
  // Reads at most `most` elements; returns the number of existing ones.
  Result<std::int64_t> get(cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, std::int64_t most, void*) const;
  Status finish();

 private:
  cudnnBackendDescriptor_t desc_ = nullptr;
};

enum class Made : std::uint8_t { small, big, weights };

class ConvPlan {
 public:
  // run()'s order of tensors: the big side, the weights, the small side; the result is one of them.
  using Tensors = std::array<void*, 3>;

  struct Wanted {
    Made made = Made::small;
    DType type = DType::f32;
    bool exact = true;  // f32 only
    bool adds = false;  // see make_adding
    std::string kernel; // of an earlier run; empty: any
  };
  // Waits for the GPU while measuring. Null: takes the heuristics' first proposal.
  static Result<ConvPlan> make(cudnnHandle_t, Measured*, const ConvSpec&, const Wanted&);
  // A plan that adds to the existing result. Errors: there is none, or a separate addition is faster.
  static Result<ConvPlan> make_adding(cudnnHandle_t, Measured*, const ConvSpec&, Wanted);

  const std::string& kernel() const { return kernel_; }
  std::size_t workspace() const { return static_cast<std::size_t>(workspace_); }
  // Thread: one at a time. Repeated pointers cost nothing.
  Status run(cudnnHandle_t, const Tensors&, void* workspace);

 private:
  Status describe(cudnnHandle_t, const ConvSpec&, const Wanted&);
  Status choose(cudnnHandle_t, const Wanted&, bool measures);
  struct Candidate;
  Result<std::vector<Candidate>> candidates(const Wanted&) const;
  struct Trial;
  Result<Trial> trial() const;
  Result<float> measure(cudnnHandle_t);
  Status check_adding(cudnnHandle_t);
  Result<bool> is_quicker(cudnnHandle_t, ConvPlan& apart);
  Status hand_over(const Tensors&, void* workspace);

  Made made_ = Made::small;
  std::array<std::size_t, 3> bytes_{};
  std::array<Described, 3> tensors_;
  Described convolution_, node_, graph_, plan_, pack_;
  Tensors given_{};
  void* given_workspace_ = nullptr;
  std::string kernel_;
  std::int64_t workspace_ = 0;
};

} // namespace dlhost::plugins::cuda
