// A frame: the tensors of one pass of one layer over one batch, and what a pass needs while it computes. A layer may
// have several live frames (pipelines, contrastive divergence), so the layer itself stores nothing of a batch.
//
// All pointers are to the memory of the layer's device, in the forms settled by prepare(). A pointer is null only if
// nothing is wanted: an input gradient without a reader, a param gradient of a frozen param.
#pragma once

#include <cstdint>
#include <span>

#include <dlhost/device.h>
#include <dlhost/ops.h>
#include <dlhost/random.h>

namespace dlhost {

class Peers;

enum class Phase : std::uint8_t { train, validate, test };

// The gradients that a call of compute_gradient computes.
enum class Wanted : std::uint8_t { inputs = 1, params = 2, both = 3 };
constexpr bool wants_inputs(Wanted w) { return (static_cast<unsigned>(w) & 1U) != 0; }
constexpr bool wants_params(Wanted w) { return (static_cast<unsigned>(w) & 2U) != 0; }

struct Pass {
  Phase phase = Phase::train;
  std::uint32_t sweep = 0; // for algorithms that compute a feature several times in a step
  std::uint64_t step = 0;
  std::uint32_t epoch = 0;
  std::int64_t valid = 0;        // rows that count; the others repeat a sample
  std::int64_t global_batch = 0; // losses divide their gradients by it, so that contributions add up
  double loss_scale = 1;         // losses multiply their gradients (not their metrics) by it, against underflow in f16
  std::uint64_t seed = 0;
  std::span<const std::uint32_t> samples; // the sample number of each row, in host memory
};

class Frame {
 public:
  const void* input(std::size_t i) const { return inputs[i]; }
  void* output(std::size_t i) const { return outputs[i]; }
  const void* output_gradient(std::size_t i) const { return output_gradients[i]; }
  void* input_gradient(std::size_t i) const { return input_gradients[i]; }
  // A param in the form with this number from Prepare::uses().
  const void* param(std::size_t use) const { return params[use]; }
  void* param_gradient(std::size_t i) const { return param_gradients[i]; }
  void* buffer(std::size_t i) const { return buffers[i]; }
  template <class T> T* buffer_as(std::size_t i) const { return static_cast<T*>(buffers[i]); }

  // The argument of Op::run: valid rows and the key of this layer's draws.
  Dynamic dynamic(const Pass& pass, std::span<const float> scalars = {}) const {
    return {scalars, pass.valid, {pass.seed, draw_stream + pass.sweep * 0x10000U}, pass.epoch, pass.samples};
  }

  std::span<const void*> inputs;
  std::span<void*> outputs;
  std::span<const void*> output_gradients;
  std::span<void*> input_gradients;
  std::span<const void*> params;
  std::span<void*> param_gradients;
  std::span<void*> buffers;
  void* scratch = nullptr;
  Stream* stream = nullptr;
  Peers* peers = nullptr; // the workers that hold the other pieces (dlhost/partition.h); null: the layer is whole
  std::uint32_t draw_stream = 0;
};

} // namespace dlhost
