// Machine code from text, by NVIDIA's runtime compiler. The library is opened when it is first wanted.
#pragma once

#include <string>

#include <dlhost/status.h>

namespace dlhost::plugins::cuda {

// For a compute capability ("90"). Not ok: Code::unsupported where there is no compiler, else what it says. Needs no
// GPU.
Result<std::string> compile_text(const std::string& text, const std::string& architecture);

} // namespace dlhost::plugins::cuda
