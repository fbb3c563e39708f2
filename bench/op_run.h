// One prepared op with its memory, which can run repeatedly: the subject of the op benchmarks.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/random.h>

namespace dlhost::bench {

class OpRun {
 public:
  // Fills inputs with small numbers; integer inputs with integers below `whole`.
  static Result<OpRun> make(Device& device, const OpSpec& spec, std::int32_t whole = 10) {
    OpRun made;
    DLHOST_ASSIGN(made.op_, device.prepare(spec));
    DLHOST_ASSIGN(made.stream_, device.stream());
    for (const auto& desc : made.op_->in) {
      DLHOST_ASSIGN(auto memory, Memory::make(device, device.bytes(desc)));
      fill(desc, memory, whole, static_cast<std::uint32_t>(made.memory_.size()));
      made.inputs_.push_back(memory.data());
      made.bytes_ += static_cast<double>(memory.size());
      made.memory_.push_back(std::move(memory));
    }
    for (const auto& desc : made.op_->out) {
      DLHOST_ASSIGN(auto memory, Memory::make(device, device.bytes(desc)));
      made.outputs_.push_back(memory.data());
      made.bytes_ += static_cast<double>(memory.size());
      made.memory_.push_back(std::move(memory));
    }
    DLHOST_ASSIGN(auto workspace, Memory::make(device, made.op_->workspace_bytes));
    std::fill_n(workspace.data(), workspace.size(), std::byte{0});
    if (made.op_->workspace_bytes > 0) {
      if (is_feature(spec))
        made.outputs_.push_back(workspace.data());
      else
        made.inputs_.push_back(workspace.data());
    }
    made.memory_.push_back(std::move(workspace));
    DLHOST_ASSIGN(made.scratch_, Memory::make(device, made.op_->scratch_bytes));
    return made;
  }

  void run() { op_->execute(*stream_, inputs_, outputs_, scratch_.data(), dynamic_); }
  const Op& op() const { return *op_; }
  const std::byte* input(std::size_t i) const { return static_cast<const std::byte*>(inputs_[i]); }
  const std::byte* output(std::size_t i) const { return static_cast<const std::byte*>(outputs_[i]); }
  double bytes() const { return bytes_; } // the least that a run must read or write

 private:
  static bool is_feature(const OpSpec& spec) {
    return std::visit(
        [](const auto& one) {
          if constexpr (requires { one.role; })
            return one.role == Role::feature;
          else
            return true;
        },
        spec);
  }
  static void fill(const TensorDesc& desc, const Memory& memory, std::int32_t whole, std::uint32_t number) {
    Random random({1, number}, 0, 0);
    const auto count = memory.size() / size_of(desc.dtype);
    for (std::size_t i = 0; i < count; ++i) {
      const float value = random.uniform() - 0.5F;
      auto* at = memory.data() + i * size_of(desc.dtype);
      if (desc.dtype == DType::f32)
        *reinterpret_cast<float*>(at) = value;
      else if (desc.dtype == DType::i32)
        *reinterpret_cast<std::int32_t*>(at) = static_cast<std::int32_t>(i) % whole;
      else if (desc.dtype == DType::bf16)
        *reinterpret_cast<std::uint16_t*>(at) =
            static_cast<std::uint16_t>((value < 0 ? 0xBE00U : 0x3E00U) + (random.bits() & 0xFFU));
    }
  }

  std::unique_ptr<Op> op_;
  std::unique_ptr<Stream> stream_;
  std::vector<Memory> memory_;
  Memory scratch_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<float> scalars_ = std::vector<float>(16, 0.01F);
  Dynamic dynamic_{.scalars = scalars_};
  double bytes_ = 0;
};

} // namespace dlhost::bench
