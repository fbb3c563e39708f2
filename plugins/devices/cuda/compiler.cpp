#include "compiler.h"

#include "compile_text.h"
#include "errors.h"

namespace dlhost::plugins::cuda {

#if CUDART_VERSION >= 12080 // since this version the runtime loads code

namespace {

class CompiledElements final : public ElementKernel {
 public:
  CompiledElements(const ElementSource& source, const void* kernel) : arguments_(source), kernel_(kernel) {}
  void launch(WorkStream& stream, const ElementRun& run) override {
    const std::int64_t blocks = arguments_.fill(run);
    if (blocks == 0) return;
    void* parameter = arguments_.data();
    if (const cudaError_t error =
            cudaLaunchKernel(kernel_, dim3(static_cast<unsigned>(blocks)), dim3(ElementSource::threads), &parameter, 0,
                             static_cast<cudaStream_t>(stream.native()));
        error != cudaSuccess)
      stream.fail(status_of(error, "launching a compiled map"));
  }

 private:
  ElementArguments arguments_;
  const void* kernel_;
};

} // namespace

Compiler::~Compiler() {
  for (auto& [text, loaded] : loaded_) (void)cudaLibraryUnload(static_cast<cudaLibrary_t>(loaded.library));
}

Result<const void*> Compiler::load(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (const auto known = loaded_.find(text); known != loaded_.end()) return known->second.kernel;
  cudaDeviceProp properties{};
  DLHOST_CUDA(cudaGetDeviceProperties(&properties, gpu_), "asking for GPU ", gpu_, "'s properties");
  DLHOST_ASSIGN(const std::string code, compile_text(text, concat(properties.major, properties.minor)));
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  DLHOST_CUDA(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              "loading a compiled map");
  if (const cudaError_t found = cudaLibraryGetKernel(&kernel, library, ElementSource::kernel); found != cudaSuccess) {
    (void)cudaLibraryUnload(library);
    return status_of(found, "finding a compiled map");
  }
  loaded_[text] = {library, kernel};
  return static_cast<const void*>(kernel);
}

Result<std::unique_ptr<ElementKernel>> Compiler::compile(const ElementSource& source) {
  DLHOST_ASSIGN(const void* kernel, load(source.text));
  return std::unique_ptr<ElementKernel>(std::make_unique<CompiledElements>(source, kernel));
}

#else

Compiler::~Compiler() = default;
Result<const void*> Compiler::load(const std::string&) {
  return Status::unsupported("this was built with CUDA ", CUDART_VERSION / 1000, "; compiled expressions need 12.8");
}
Result<std::unique_ptr<ElementKernel>> Compiler::compile(const ElementSource& source) {
  return load(source.text).status();
}

#endif

} // namespace dlhost::plugins::cuda
