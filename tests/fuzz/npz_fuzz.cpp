// Any bytes are an npz file, or a Status; every tensor that is told of has as many bytes as its shape says.
#include <cstdint>
#include <cstdlib>

#include "param/file/npz.h"
#include "param/file/plain.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto npz = dlhost::param::parse_npz({reinterpret_cast<const std::byte*>(data), size}, "fuzzed");
  if (!npz.ok()) return 0;
  for (const auto& tensor : npz->tensors) {
    std::uint64_t elements = 1;
    for (const auto dim : tensor.shape) elements *= static_cast<std::uint64_t>(dim);
    if (elements * size_of(tensor.dtype) != tensor.bytes.size()) std::abort();
    if (is_float(tensor.dtype) && dlhost::param::plain_values(tensor).size() != elements) std::abort();
  }
  return 0;
}
