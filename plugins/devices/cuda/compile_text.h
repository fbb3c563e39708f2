// Compiles text to machine code with NVIDIA's runtime compiler. The library is opened at first use.
#pragma once

#include <string>

#include <dlhost/status.h>

namespace dlhost::plugins::cuda {

// For a compute capability ("90"). Errors: Code::unsupported without a compiler, else the compiler's messages. Needs no
// GPU.
Result<std::string> compile_text(const std::string& text, const std::string& architecture);

} // namespace dlhost::plugins::cuda
