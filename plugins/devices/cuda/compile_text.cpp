#include "compile_text.h"

#include <array>

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#endif

#include "opened.h"

namespace dlhost::plugins::cuda {

#if __has_include(<nvrtc.h>)

namespace {

struct NvrtcCalls {
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) size = nullptr;
  decltype(&nvrtcGetCUBIN) code = nullptr;
  decltype(&nvrtcGetErrorString) error = nullptr;
  Status state;

  NvrtcCalls() {
    // NVRTC opens this library itself, but searches fewer places than this plugin.
    (void)dlopen(concat("libnvrtc-builtins.so.", CUDART_VERSION / 1000, ".", CUDART_VERSION % 1000 / 10).c_str(),
                 RTLD_NOW | RTLD_LOCAL);
    Opened library(concat("libnvrtc.so.", CUDART_VERSION / 1000), "no runtime compiler");
    library.find(create, "nvrtcCreateProgram");
    library.find(destroy, "nvrtcDestroyProgram");
    library.find(compile, "nvrtcCompileProgram");
    library.find(log_size, "nvrtcGetProgramLogSize");
    library.find(log, "nvrtcGetProgramLog");
    library.find(size, "nvrtcGetCUBINSize");
    library.find(code, "nvrtcGetCUBIN");
    library.find(error, "nvrtcGetErrorString");
    state = library.status();
  }
};

const NvrtcCalls& nvrtc_calls() {
  static const NvrtcCalls found;
  return found;
}

} // namespace

Result<std::string> compile_text(const std::string& text, const std::string& architecture) {
  const NvrtcCalls& nvrtc = nvrtc_calls();
  DLHOST_TRY(Status(nvrtc.state));
  nvrtcProgram program = nullptr;
  if (const auto made = nvrtc.create(&program, text.c_str(), "map.cu", 0, nullptr, nullptr); made != NVRTC_SUCCESS)
    return Status::internal("the runtime compiler does not start: ", nvrtc.error(made));
  struct Owner {
    nvrtcProgram* program;
    ~Owner() { (void)nvrtc_calls().destroy(program); }
  } const owner{&program};
  const std::string target = concat("--gpu-architecture=sm_", architecture);
  // Rounds after each step, like the interpreter.
  const std::array<const char*, 3> options{target.c_str(), "--std=c++17", "--fmad=false"};
  if (const auto made = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
      made != NVRTC_SUCCESS) {
    std::size_t size = 0;
    (void)nvrtc.log_size(program, &size);
    std::string log(size, '\0');
    if (size > 0) (void)nvrtc.log(program, log.data());
    return Status::internal("the runtime compiler: ", nvrtc.error(made), ": ", log.c_str());
  }
  std::size_t size = 0;
  if (const auto asked = nvrtc.size(program, &size); asked != NVRTC_SUCCESS)
    return Status::internal("the runtime compiler: ", nvrtc.error(asked));
  std::string code(size, '\0');
  if (const auto asked = nvrtc.code(program, code.data()); asked != NVRTC_SUCCESS)
    return Status::internal("the runtime compiler: ", nvrtc.error(asked));
  return code;
}

#else

Result<std::string> compile_text(const std::string&, const std::string&) {
  return Status::unsupported("this was built with a toolkit that has no runtime compiler (nvrtc.h)");
}

#endif

} // namespace dlhost::plugins::cuda
