// Tensors by name, outside a run: a safetensors file, an npz file, or the params and running state of a checkpoint.
// Export writes and import reads them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "param/file/checkpoint.h"
#include "param/file/npz.h"
#include "param/file/safetensors.h"

namespace dlhost::param {

struct TensorFile {
  std::string what;                 // for messages
  std::vector<NamedTensor> tensors; // by name
  Metadata metadata;                // of a safetensors file
  const NamedTensor* find(std::string_view name) const;

  // The memory of the tensors.
  std::vector<std::unique_ptr<File>> files;
  std::vector<std::unique_ptr<std::byte[]>> unpacked;
};

// Detects the format from the first bytes, not from the file name.
Result<TensorFile> open_tensors(Disk&, const std::string& path);
Result<TensorFile> tensors_of(CheckpointFiles);

// Metadata key: the inputs that the net's sources give for one sample, as JSON (run/input/inputs.h).
inline constexpr const char* inputs_key = "dlhost.inputs";

enum class TensorFormat : std::uint8_t { safetensors, npz };
// The npz format drops the metadata.
Status write_tensors(Disk&, const std::string& path, TensorFormat, std::span<const NamedTensor>, Metadata);

} // namespace dlhost::param
