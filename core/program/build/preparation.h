// Core's side of Layer::prepare: answers the layer's questions about its place in the net and records its calls.
#pragma once

#include <optional>

#include "program/build/companion.h"
#include "program/unit.h"

namespace dlhost::program {

class Preparation final : public Prepare {
 public:
  struct Context {
    Device* device = nullptr;
    param::Store* store = nullptr;
    bool training = false;
    DType compute = DType::f32;
    std::int64_t batch = 0;
    std::int64_t block_samples = 0;  // block size for sums over samples; 0: the device chooses
    std::vector<TensorDesc> inputs;  // in the producers' formats
    std::vector<TensorDesc> outputs; // in plain format
    Epilogue epilogue;
    TensorDesc addend;
    Companion companion;
  };
  Preparation(Context context, Unit& unit);

  Device& device() override { return *context_.device; }
  bool training() const override { return context_.training; }
  DType compute() const override { return context_.compute; }
  std::int64_t batch() const override { return context_.batch; }
  const TensorDesc& input(std::size_t i) const override { return context_.inputs[i]; }
  const TensorDesc& output(std::size_t i) const override { return context_.outputs[i]; }
  const Shape& param_shape(std::size_t i) const override { return unit_.part.params[i]; }
  bool wants_input_gradient(std::size_t i) const override { return unit_.wants_input_gradient.at(i); }
  bool wants_param_gradient(std::size_t i) const override;
  bool adds_input_gradient(std::size_t i) const override { return unit_.adds_input_gradient.at(i); }
  void leaves_adding(std::size_t i) override { unit_.adds_input_gradient.at(i) = false; }
  Epilogue epilogue() override;
  std::size_t addend() const override { return unit_.described->setup.inputs.size(); }
  void takes_epilogue_gradient(bool reads_output) override {
    gradient_taken = true;
    output_read = reads_output;
  }
  Result<std::unique_ptr<Op>> op(const OpSpec&, Role) override;
  Result<std::unique_ptr<Op>> kernel(const KernelSpec&, Role) override;
  bool has_kernels() override { return context_.companion.exists(); }
  Piece piece() const override { return unit_.part.piece; }
  void reads(std::size_t input, const TensorDesc&) override;
  void gives(std::size_t output, const TensorDesc&) override;
  std::size_t uses(std::size_t param, const TensorDesc&) override;
  void gives_gradient(std::size_t param, const TensorDesc&) override;
  std::size_t buffer(std::string name, std::size_t bytes, Life) override;

  // The layer's calls.
  std::vector<TensorDesc> read_forms;  // of inputs; the addend is last, if there is one
  std::vector<TensorDesc> given_forms; // of outputs
  bool epilogue_passed = false;        // the layer passed it to an op
  bool epilogue_taken = false;         // that op accepted it
  bool gradient_taken = false, output_read = false;
  std::string epilogue_remark;
  std::string misused; // a forbidden call of the layer; empty: none

 private:
  void note(const Op&, std::string_view spec, Role);

  Context context_;
  Unit& unit_;
};

} // namespace dlhost::program
