// The device. Core makes one for each worker or process; its ops keep no reference to it.
#pragma once

#include <cstdint>
#include <string_view>

#include <oneapi/dnnl/dnnl.hpp>

#include <dlhost/device.h>
#include <dlhost/schema.h>

namespace dlhost::plugins::cpu {

class Cpu final : public Device {
 public:
  static constexpr std::string_view name = "cpu";
  struct Options {
    std::int64_t threads = 0;
    dnnl::cpu_isa isa = dnnl::cpu_isa::isa_default;
  };
  static Schema schema();
  explicit Cpu(Options);

  Traits traits() const override;
  std::string description() const override;
  Result<void*> allocate(std::size_t bytes) override;
  void release(void*) noexcept override;
  Result<std::unique_ptr<Stream>> stream() override;
  Result<std::unique_ptr<Event>> event() override;
  Status copy(Stream&, void* dst, const void* src, std::size_t bytes, Direction) override;
  Status fill_zero(Stream&, void* dst, std::size_t bytes) override;
  std::size_t bytes(const TensorDesc&) const override;
  std::int64_t rows_together(const TensorDesc&) const override;
  std::string format_name(const TensorDesc&) const override;
  Result<Format> format_named(const TensorDesc& plain, const std::string& name) override;
  Result<std::unique_ptr<Op>> prepare(const OpSpec&, const Choice&) override;

 private:
  int threads() const;
  Options options_;
  Status held_; // the result of limiting the instruction set as the options say
};

} // namespace dlhost::plugins::cpu
