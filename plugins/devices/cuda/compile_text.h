// Machine code from text, by NVIDIA's runtime compiler. The library is opened when it is first wanted.
#pragma once

#include <string>

#include <dlhost/status.h>

namespace dlhost::plugins::cuda {

// For a compute capability ("90"); or what the compiler says of the text, or that there is none. Needs no GPU.
Result<std::string> compile_text(const std::string& text, const std::string& architecture);

} // namespace dlhost::plugins::cuda
