// Tensors by their names, outside of a run: a safetensors file, an npz file, or a checkpoint, whose params and running
// state stand together. What export writes and import reads.
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

  // What the tensors point into.
  std::vector<std::unique_ptr<File>> files;
  std::vector<std::unique_ptr<std::byte[]>> unpacked;
};

// By what the file begins with, whatever it is called.
Result<TensorFile> open_tensors(Disk&, const std::string& path);
Result<TensorFile> tensors_of(CheckpointFiles);

// In a file's metadata: what the sources of its net give of one sample, as JSON (run/input/inputs.h).
inline constexpr const char* inputs_key = "dlhost.inputs";

enum class TensorFormat : std::uint8_t { safetensors, npz };
// npz keeps no metadata.
Status write_tensors(Disk&, const std::string& path, TensorFormat, std::span<const NamedTensor>, Metadata);

} // namespace dlhost::param
