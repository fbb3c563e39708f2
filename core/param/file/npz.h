// npz files: a zip archive with a .npy file for each array, as numpy.savez and savez_compressed write them. The bytes
// are untrusted: they are checked before use, and reading takes no more memory than an archive of that size can fill.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "param/file/safetensors.h"

namespace dlhost::param {

struct Npz {
  std::vector<NamedTensor> tensors;                   // by name, in C order and this machine's byte order
  std::vector<std::unique_ptr<std::byte[]>> unpacked; // memory of the tensors
};
Result<Npz> parse_npz(std::span<const std::byte> bytes, const std::string& what);

// The file appears whole or not at all. It is not compressed, so NumPy can map it.
Status write_npz(Disk&, const std::string& path, std::span<const NamedTensor>);

// False: dlhost was built without libzip, and both functions return an error that says so.
extern const bool npz_built;

} // namespace dlhost::param
