// npz files: a zip archive with a .npy file for each array, as numpy.savez and savez_compressed write them. Bytes may
// come from outside: nothing in a file is believed before it is checked, and no more memory is taken than an archive of
// that size can fill.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "param/file/safetensors.h"

namespace dlhost::param {

struct Npz {
  std::vector<NamedTensor> tensors;                   // by name, in C order and this machine's byte order
  std::vector<std::unique_ptr<std::byte[]>> unpacked; // what the tensors point into
};
Result<Npz> parse_npz(std::span<const std::byte> bytes, const std::string& what);

// Appears whole or not at all. Without compression: NumPy can map such files.
Status write_npz(Disk&, const std::string& path, std::span<const NamedTensor>);

// False where dlhost was built without libzip: then both are a Status that says so.
extern const bool npz_built;

} // namespace dlhost::param
