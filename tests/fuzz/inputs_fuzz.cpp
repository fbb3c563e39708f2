// What a checkpoint says of the samples that its net takes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "run/input/inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = dlhost::env::json_or_discarded({reinterpret_cast<const char*>(data), size});
  const auto inputs = dlhost::run::inputs_of(json, "fuzz");
  if (!inputs.ok()) return 0;
  for (const auto& [name, input] : *inputs)
    if (input.outputs.empty()) std::abort(); // the predictor reads the first
  return 0;
}
