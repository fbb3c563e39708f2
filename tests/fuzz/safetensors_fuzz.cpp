// Any bytes are a safetensors file, or a Status; every tensor that is told of lies inside them.
#include <cstdint>
#include <cstdlib>

#include "param/file/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = dlhost::param::parse_safetensors(bytes, "fuzzed");
  if (!file.ok()) return 0;
  for (const auto& tensor : file->tensors)
    if (tensor.bytes.data() < bytes.data() || tensor.bytes.data() + tensor.bytes.size() > bytes.data() + size)
      std::abort();
  return 0;
}
