// Times of work on the GPU, measured while a job is prepared and the GPU is otherwise idle: to choose among a library's
// kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include <dlhost/status.h>

namespace dlhost::plugins::cuda {

// Cleared memory to measure on; released after measuring.
class Lent {
 public:
  Lent() = default;
  static Result<Lent> make(std::size_t bytes);
  Lent(Lent&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Lent& operator=(Lent&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Lent();
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Milliseconds: the minimum of some runs, after one warm-up.
Result<float> least_time(cudaStream_t, const std::function<Status()>& run);

// The fastest kernel for a piece of work in this process: each is measured once.
class Measured {
 public:
  std::optional<std::string> find(const std::string& work);
  void note(const std::string& work, const std::string& kernel);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> kernels_;
};

} // namespace dlhost::plugins::cuda
