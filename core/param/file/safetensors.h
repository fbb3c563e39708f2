// Safetensors files: a little-endian u64 with the length of a JSON header, the header (for each tensor its dtype, shape
// and place in the data), the data. The common Python library reads them. Bytes are untrusted and checked before use.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/tensor.h>

namespace dlhost::param {

// A tensor in plain format. `bytes` is borrowed.
struct NamedTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

using Metadata = std::map<std::string, std::string>;

// The file appears whole or not at all. The data begins at a multiple of 64 bytes.
Status write_safetensors(Disk&, const std::string& path, std::span<const NamedTensor>, const Metadata& = {});

// The tensors of a file. Their spans point into the bytes given to parse_safetensors. `what` names the file in
// messages.
struct Safetensors {
  std::vector<NamedTensor> tensors; // by name
  Metadata metadata;
  const NamedTensor* find(std::string_view name) const;
};
Result<Safetensors> parse_safetensors(std::span<const std::byte> bytes, const std::string& what);

} // namespace dlhost::param
