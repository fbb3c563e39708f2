// The softmax loss over places gives the same bits with any number of threads.
#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "cpu.h"

namespace dlhost::plugins::cpu {
namespace {

// One prepared op with its own data.
class Loss {
 public:
  Loss(Shape x, Role role, DType type, std::int64_t threads) : device_({.threads = threads}) {
    SoftmaxLossSpec spec;
    spec.role = role;
    spec.x = {type, x, {}};
    spec.smoothing = 0.1;
    op_ = *device_.prepare(spec, {});
    stream_ = *device_.stream();
    const auto classes = static_cast<std::int32_t>(x[1]);
    for (const auto& desc : op_->in) {
      auto& memory = inputs_.emplace_back(bytes_of(desc));
      if (desc.dtype == DType::i32)
        fill<std::int32_t>(memory, [&](std::size_t i) { return static_cast<std::int32_t>(i * 7) % classes; });
      else if (type == DType::f32)
        fill<float>(memory, [](std::size_t i) { return static_cast<float>(i * 37 % 64) / 16 - 2; });
      else
        fill<std::uint16_t>(memory, [](std::size_t i) { return static_cast<std::uint16_t>(0x3E00 + i * 37 % 256); });
      in_.push_back(memory.data());
    }
    for (const auto& desc : op_->out) outputs_.emplace_back(bytes_of(desc));
    for (auto& memory : outputs_) out_.push_back(memory.data());
    scratch_.resize(op_->scratch_bytes);
  }

  const std::vector<std::vector<std::byte>>& run() {
    op_->execute(*stream_, in_, out_, scratch_.data(), {});
    EXPECT_TRUE(stream_->wait().ok());
    return outputs_;
  }

 private:
  static std::size_t bytes_of(const TensorDesc& desc) {
    return static_cast<std::size_t>(desc.count()) * size_of(desc.dtype);
  }
  template <class T, class Number> static void fill(std::vector<std::byte>& memory, Number&& number) {
    for (std::size_t i = 0; i < memory.size() / sizeof(T); ++i) {
      const T value = number(i);
      std::memcpy(memory.data() + i * sizeof(T), &value, sizeof(T));
    }
  }

  Cpu device_;
  std::unique_ptr<Op> op_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::vector<std::byte>> inputs_, outputs_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  std::vector<std::byte> scratch_;
};

TEST(SoftmaxLoss, ThreadsChangeNoBit) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    for (const Role role : {Role::feature, Role::input_gradient})
      for (const Shape& x : {Shape{7, 300, 20}, {3, 50, 9, 31}, {2, 3000, 40}}) {
        Loss one(x, role, type, 1), two(x, role, type, 2);
        EXPECT_EQ(one.run(), two.run()) << to_string(x) << " " << name_of(type);
      }
}

} // namespace
} // namespace dlhost::plugins::cpu
