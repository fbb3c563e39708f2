// One convolution as cuDNN's graph of one node, and the plan that computes it: of those that the library's heuristics
// propose and that are allowed, the quickest on this GPU.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <cudnn.h>

#include <dlhost/ops.h>

#include "measure.h"

namespace dlhost::plugins::cuda {

// A description of cuDNN's, with an owner.
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
  // How many there are, of which at most `most` are read.
  Result<std::int64_t> get(cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, std::int64_t most, void*) const;
  Status finish();

 private:
  cudnnBackendDescriptor_t desc_ = nullptr;
};

enum class Made : std::uint8_t { small, big, weights };

class ConvPlan {
 public:
  // In which order run() takes its tensors: the big side, the weights, the small side; what is made is among them.
  using Tensors = std::array<void*, 3>;

  struct Wanted {
    Made made = Made::small;
    DType type = DType::f32;
    bool exact = true;  // in f32, and nothing else
    bool adds = false;  // see make_adding
    std::string kernel; // of an earlier run; empty: any
  };
  // Waits for the GPU while it measures. Null: the first that the heuristics propose.
  static Result<ConvPlan> make(cudnnHandle_t, Measured*, const ConvSpec&, const Wanted&);
  // One that adds to what lies where the result goes. Not ok: there is none, or an addition behind another is quicker.
  static Result<ConvPlan> make_adding(cudnnHandle_t, Measured*, const ConvSpec&, Wanted);

  const std::string& kernel() const { return kernel_; }
  std::size_t workspace() const { return static_cast<std::size_t>(workspace_); }
  // One caller at a time. Pointers that are those of the last run cost nothing to hand over.
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
