// A source whose samples contain their number.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <dlhost/source.h>

namespace dlhost::run {

// Sample i is {i, 7 i}, its label 100 + i.
class Numbers : public Source {
 public:
  explicit Numbers(std::int64_t count) : count_(count) {}
  Status open(dlhost::Host&, const std::string&) override { return {}; }
  Status setup(Setup& s) override {
    s.output("data", TensorDesc{DType::i32, {2}, {}});
    s.output("label", TensorDesc{DType::i32, {}, {}});
    return {};
  }
  std::int64_t count(Phase) const override { return count_; }
  Status read(Phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    if (index == bad) return Status::corrupt("this sample is bad");
    while (index >= closed_from) std::this_thread::yield();
    if (index == throwing) throw std::runtime_error("this sample throws");
    if (index == refusing) throw std::domain_error("this sample is refused");
    const auto i = static_cast<std::int32_t>(index);
    const std::int32_t values[] = {i, 7 * i}, label = 100 + i;
    std::memcpy(outputs[0], values, sizeof values);
    std::memcpy(outputs[1], &label, sizeof label);
    ++reads;
    return {};
  }
  std::atomic<std::int64_t> bad{-1}, throwing{-1}, refusing{-1}; // tests change them while readers run
  std::atomic<std::int64_t> closed_from{INT64_MAX};              // later samples block until it changes
  mutable std::atomic<int> reads{0};

 private:
  std::int64_t count_;
};

} // namespace dlhost::run
