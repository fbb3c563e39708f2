// Runs one layer: setup, prepare, and frames as core gives them, with guards around all memory. Does for one layer the
// work of core/program for a net.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <dlhost/kernel.h>
#include <dlhost/partition.h>

#include "device/lab.h"
#include "layer/case.h"
#include "net/pieces.h"

namespace dlhost::conform {

// Values by the names of a layer's tensors: "in0", "out0", "dout0", "din0", "weight", "dweight".
using Tensors = std::map<std::string, Values>;

// The settings of a setup. The default: whole, in training, f32, plain.
struct Ask {
  DType compute = DType::f32;
  Phase phase = Phase::train;
  Format input_format;            // the producers' format, for inputs of the first input's shape
  std::vector<bool> wants_inputs; // empty: all inputs that can learn
  bool wants_params = true;
  std::optional<std::size_t> frozen;   // the only param without a gradient
  bool adds = false;                   // gradients are added to existing values
  const net::Pieces* pieces = nullptr; // null: the layer is whole
  std::uint32_t number = 0;            // of the piece
  Piece piece;                         // its cuts along declared splits
  std::string device_type;             // type of the device; empty: the one under test
};

class LayerBench final : public Prepare {
 public:
  // Makes, sets up and prepares the layer. Errors: throws.
  LayerBench(const Context&, Device&, const LayerCase&, const Ask&);

  const Setup& setup() const { return setup_; }
  const Layer& layer() const { return *layer_; }
  Layer& layer() { return *layer_; }
  Lab& lab() { return *lab_; } // for the layer's tensors; a host layer's are on the host
  const std::vector<TensorDesc>& read_forms() const { return reads_; }
  const std::vector<TensorDesc>& given_forms() const { return gives_; }
  bool adds(std::size_t input) const { return ask_.adds && !left_.contains(input); } // the actual outcome
  std::int64_t rows() const { return inputs_.at(0).shape[0]; }
  bool learns(std::size_t input) const;

  Device& device() override { return device_; }
  bool training() const override { return ask_.phase == Phase::train; }
  DType compute() const override { return ask_.compute; }
  std::int64_t batch() const override { return rows(); }
  const TensorDesc& input(std::size_t i) const override { return inputs_.at(i); }
  const TensorDesc& output(std::size_t i) const override { return outputs_.at(i); }
  const Shape& param_shape(std::size_t i) const override { return params_.at(i); }
  bool wants_input_gradient(std::size_t i) const override { return training() && setup_.has_gradient && learns(i); }
  bool wants_param_gradient(std::size_t i) const override {
    return training() && ask_.wants_params && ask_.frozen != i;
  }
  bool adds_input_gradient(std::size_t) const override { return ask_.adds; }
  void leaves_adding(std::size_t i) override { left_.insert(i); }
  Epilogue epilogue() override { return {}; }
  std::size_t addend() const override { return setup_.inputs.size(); }
  void takes_epilogue_gradient(bool) override {}
  Result<std::unique_ptr<Op>> op(const OpSpec&, Role) override;
  Result<std::unique_ptr<Op>> kernel(const KernelSpec&, Role) override;
  bool has_kernels() override;
  Piece piece() const override { return ask_.piece; }
  void reads(std::size_t i, const TensorDesc& desc) override { reads_.at(i) = desc; }
  void gives(std::size_t i, const TensorDesc& desc) override { gives_.at(i) = desc; }
  std::size_t uses(std::size_t param, const TensorDesc&) override;
  void gives_gradient(std::size_t param, const TensorDesc& desc) override { param_gradients_.at(param) = desc; }
  std::size_t buffer(std::string name, std::size_t bytes, Life) override;

 private:
  friend class LayerRun;
  struct Use {
    std::size_t param;
    TensorDesc desc;
  };
  struct Buffer {
    std::size_t bytes;
    float initial = 0;
    bool filled = false; // with `initial`
  };
  void declare();
  TensorDesc part(TensorDesc, std::size_t operand, std::vector<Split::Operand> Split::*) const;
  std::string companion() const;

  const Context& context_;
  const LayerCase& case_;
  Ask ask_;
  Device& device_;
  std::unique_ptr<Device> host_device_; // of host layers
  std::unique_ptr<Lab> lab_;
  std::unique_ptr<Layer> layer_;
  std::vector<Port> ports_;
  Setup setup_;
  std::vector<TensorDesc> inputs_, outputs_, reads_, gives_, param_gradients_;
  std::vector<Shape> params_;
  std::set<std::size_t> left_; // core adds to these inputs' gradients
  std::vector<Use> uses_;
  std::vector<Buffer> buffers_;
  std::size_t scratch_ = 0;
};

// One frame. Copies the layer's tensors from `given`; missing output gradients are null.
class LayerRun {
 public:
  struct Manner {
    bool in_place = false;
    bool drops_input_gradient = false; // the gradient of input 0 is null
    std::int64_t valid = -1;
    std::vector<std::uint32_t> samples; // empty: the rows' numbers
    std::int64_t global_batch = 0;      // 0: the batch
    double loss_scale = 1;
    Peers* peers = nullptr;
  };
  LayerRun(LayerBench&, const Tensors& given, const Manner&);

  void feature();
  void gradient(Wanted);
  // Overwrites with NaN the tensors that the layer's gradient does not read.
  void poison();
  // Writes these into the input gradients first, for layers that add to them.
  void preset_input_gradient(std::size_t input, const Values&);

  Tensors outputs();
  Tensors gradients();
  // Checks that guards and inputs are unchanged.
  void check_memory();
  std::uint64_t allocations() const { return allocations_; }

 private:
  Pass pass() const;
  void bind();
  void wait();

  LayerBench& bench_;
  Manner manner_;
  std::vector<Held> inputs_, outputs_, output_gradients_, input_gradients_, uses_, param_gradients_;
  std::vector<bool> has_output_gradient_, has_input_gradient_;
  std::vector<Guarded> buffers_;
  std::vector<std::vector<std::byte>> input_bytes_;
  Guarded scratch_;
  std::vector<const void*> in_, dout_, param_;
  std::vector<void*> out_, din_, dparam_, buffer_;
  std::vector<std::uint32_t> samples_;
  Frame frame_;
  bool poisoned_ = false;
  std::uint64_t allocations_ = 0;
};

// The values of all tensors that no layer computes: inputs, params and output gradients; from the case and the seed.
Tensors filled(const LayerCase&, LayerBench&, std::uint64_t seed);

} // namespace dlhost::conform
