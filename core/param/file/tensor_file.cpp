#include "param/file/tensor_file.h"

#include <algorithm>
#include <cstring>

namespace dlhost::param {

const NamedTensor* TensorFile::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors, name, {}, &NamedTensor::name);
  return found == tensors.end() || found->name != name ? nullptr : &*found;
}

Result<TensorFile> open_tensors(Disk& disk, const std::string& path) {
  TensorFile file;
  file.what = path;
  DLHOST_ASSIGN(auto opened, disk.open(path));
  const auto bytes = opened->map();
  constexpr std::string_view zip = "PK\x03\x04", npy = "\x93NUMPY";
  const auto begins = [&](std::string_view with) {
    return bytes.size() >= with.size() && std::memcmp(bytes.data(), with.data(), with.size()) == 0;
  };
  if (begins(npy))
    return Status::invalid(path,
                           ": is a single array; put it into an npz file under its name: numpy.savez(\"file.npz\", "
                           "**{\"fc1.weight\": array})");
  if (begins(zip)) {
    DLHOST_ASSIGN(auto npz, parse_npz(bytes, path));
    file.tensors = std::move(npz.tensors);
    file.unpacked = std::move(npz.unpacked);
  } else {
    DLHOST_ASSIGN(auto safetensors, parse_safetensors(bytes, path));
    file.tensors = std::move(safetensors.tensors);
    file.metadata = std::move(safetensors.metadata);
    file.files.push_back(std::move(opened));
  }
  std::ranges::sort(file.tensors, {}, &NamedTensor::name);
  const auto twice = std::ranges::adjacent_find(file.tensors, {}, &NamedTensor::name);
  if (twice != file.tensors.end()) return Status::corrupt(path, ": has '", twice->name, "' twice");
  return file;
}

Result<TensorFile> tensors_of(CheckpointFiles checkpoint) {
  TensorFile file;
  file.what = checkpoint.folder;
  DLHOST_ASSIGN(const auto values, values_of(checkpoint));
  DLHOST_ASSIGN(const auto state, parse_safetensors(checkpoint.state->map(), checkpoint.folder));
  for (const auto* part : {&values, &state})
    file.tensors.insert(file.tensors.end(), part->tensors.begin(), part->tensors.end());
  for (auto* part : {&checkpoint.params, &checkpoint.history, &checkpoint.state})
    file.files.push_back(std::move(*part));
  std::ranges::sort(file.tensors, {}, &NamedTensor::name);
  return file;
}

Status write_tensors(Disk& disk, const std::string& path, TensorFormat format, std::span<const NamedTensor> tensors,
                     Metadata metadata) {
  metadata["format"] = "pt"; // tells readers of the common library that the data is laid as PyTorch lays it
  return format == TensorFormat::npz ? write_npz(disk, path, tensors)
                                     : write_safetensors(disk, path, tensors, metadata);
}

} // namespace dlhost::param
