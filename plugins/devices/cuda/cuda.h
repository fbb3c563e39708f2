// The cuda device: one GPU, memory from a pool, its own streams, ops by cuBLASLt, cuDNN and own kernels.
#pragma once

#include <mutex>
#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <dlhost/device.h>
#include <dlhost/host.h>
#include <dlhost/schema.h>

#include "compiler.h"
#include "libraries.h"

namespace dlhost::plugins::cuda {

class Cuda final : public Device {
 public:
  static constexpr std::string_view name = "cuda";
  struct Options {
    std::int64_t gpu = 0;
    std::int64_t turn = 0;
    bool tf32 = false;
    bool measure = false;
    bool graphs = false;
    bool sync_errors = false;
  };
  static Schema schema();
  // The plugin's hooks: they set the host for the devices' messages.
  static Status begin(Host&);
  static void end() noexcept;
  explicit Cuda(const Options&);
  ~Cuda() override;

  Traits traits() const override;
  std::string description() const override;
  std::optional<Room> room() const override;
  Result<void*> allocate(std::size_t bytes) override;
  void release(void*) noexcept override;
  Result<void*> allocate_host(std::size_t bytes) override;
  void release_host(void*) noexcept override;
  Status pin(void* memory, std::size_t bytes) override;
  void unpin(void* memory) noexcept override;
  Result<std::unique_ptr<Stream>> stream() override;
  Result<std::unique_ptr<Event>> event() override;
  Status copy(Stream&, void* dst, const void* src, std::size_t bytes, Direction) override;
  Status fill_zero(Stream&, void* dst, std::size_t bytes) override;
  std::size_t bytes(const TensorDesc&) const override;
  std::int64_t rows_together(const TensorDesc&) const override;
  std::string format_name(const TensorDesc&) const override;
  Result<Format> format_named(const TensorDesc& plain, const std::string& name) override;
  Result<std::unique_ptr<Op>> prepare(const OpSpec&, const Choice&) override;
  Result<std::string> convene() override;
  Result<std::unique_ptr<Peers>> join(const std::string& convened, int rank, int count) override;

 private:
  Status start();
  // Makes the GPU current for the calling thread. Errors: why it is unusable.
  Status enter() const;
  Status out_of_memory(std::size_t bytes) const;

  Options options_;
  std::string name_;
  Status state_; // not ok: the device is unusable
  bool pools_ = false;
  cudaMemPool_t pool_ = nullptr;
  cudaStream_t memory_stream_ = nullptr;
  std::mutex preparing_; // cuDNN's handle belongs to one task at a time
  Libraries libraries_;
  Measured measured_;
  Compiler compiler_;
};

} // namespace dlhost::plugins::cuda
