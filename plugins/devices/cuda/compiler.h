// Compiles kernels from text for the present GPU while a job is prepared.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <cuda_runtime_api.h>

#include "kernels/elements.h"

namespace dlhost::plugins::cuda {

class Compiler final : public ElementCompiler {
 public:
  explicit Compiler(int gpu) : gpu_(gpu) {}
  ~Compiler() override;
  // The same text is compiled once.
  Result<std::unique_ptr<ElementKernel>> compile(const ElementSource&) override;

 private:
  struct Loaded {
    void* library = nullptr;
    const void* kernel = nullptr;
  };
  Result<const void*> load(const std::string& text);

  int gpu_;
  std::mutex mutex_;
  std::map<std::string, Loaded> loaded_;
};

} // namespace dlhost::plugins::cuda
