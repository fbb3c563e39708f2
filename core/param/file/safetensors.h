// Safetensors files: a little-endian u64 with the length of a JSON header, the header (for each tensor its dtype, shape
// and place in the data), the data. Readable by the common Python library. Bytes may come from outside: nothing in a
// file is believed before it is checked.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/tensor.h>

namespace dlhost::param {

// A tensor to be written, plain.
struct NamedTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

using Metadata = std::map<std::string, std::string>;

// Appears whole or not at all. Tensors are aligned to 64 bytes from the start of the file.
Status write_safetensors(Disk&, const std::string& path, std::span<const NamedTensor>, const Metadata& = {});

// The tensors of a file's bytes; the spans are into them. `what` names the file in messages.
struct Safetensors {
  std::vector<NamedTensor> tensors; // by name
  Metadata metadata;
  const NamedTensor* find(std::string_view name) const;
};
Result<Safetensors> parse_safetensors(std::span<const std::byte> bytes, const std::string& what);

} // namespace dlhost::param
