#include "param/file/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"

namespace dlhost::param {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian and written as it lies");

constexpr std::uint64_t largest_header = 100 << 20; // as the Python library has it

struct DTypeWord {
  DType type;
  const char* word;
};
constexpr DTypeWord words[] = {{DType::f32, "F32"}, {DType::f64, "F64"}, {DType::bf16, "BF16"}, {DType::f16, "F16"},
                               {DType::i64, "I64"}, {DType::i32, "I32"}, {DType::i8, "I8"},     {DType::u8, "U8"}};

std::string header_of(std::span<const NamedTensor> tensors, const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    const auto word = std::ranges::find(words, tensor.dtype, &DTypeWord::type);
    header[tensor.name] = {
        {"dtype", word->word}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = env::json_text(header);
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' '); // data begins at a multiple of 64
  return text;
}

std::span<const std::byte> bytes_of(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

// What one entry of the header says, checked against the data.
Result<NamedTensor> tensor_of(const std::string& name, const nlohmann::json& entry, std::span<const std::byte> data) {
  const auto bad = [&](const char* why) { return Status::corrupt("tensor '", name, "': ", why); };
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
    return bad("dtype, shape or data_offsets is missing");
  const auto &dtype = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
  const auto word =
      std::ranges::find_if(words, [&](const DTypeWord& w) { return dtype.is_string() && dtype == w.word; });
  if (word == std::end(words)) return bad("its dtype is not known here");
  if (!shape.is_array() || shape.size() > 64) return bad("its shape is not a list of dimensions");
  NamedTensor tensor{.name = name, .dtype = word->type, .shape = {}, .bytes = {}};
  std::uint64_t size = size_of(word->type);
  for (const auto& dim : shape) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > std::uint64_t{1} << 48)
      return bad("its shape has a bad dimension");
    tensor.shape.push_back(dim.get<std::int64_t>());
    if (__builtin_mul_overflow(size, dim.get<std::uint64_t>(), &size))
      return bad("its shape is larger than any memory");
  }
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return bad("its data_offsets are not two numbers");
  const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
  if (begin > end || end > data.size()) return bad("its data lies beyond the end of the file: the file is truncated");
  if (end - begin != size) return bad("its data is not as long as its shape says");
  tensor.bytes = data.subspan(begin, size);
  return tensor;
}

} // namespace

Status write_safetensors(Disk& disk, const std::string& path, std::span<const NamedTensor> tensors,
                         const Metadata& metadata) {
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  DLHOST_ASSIGN(auto file, disk.create(path));
  DLHOST_TRY(file->append(bytes_of(&length, sizeof length)));
  DLHOST_TRY(file->append(bytes_of(header.data(), header.size())));
  for (const auto& tensor : tensors) DLHOST_TRY(file->append(tensor.bytes));
  return file->commit();
}

Result<Safetensors> parse_safetensors(std::span<const std::byte> bytes, const std::string& what) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length)
    return Status::corrupt(what, ": is no safetensors file: it has only ", bytes.size(), " bytes");
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > largest_header || length > bytes.size() - sizeof length)
    return Status::corrupt(what, ": its header claims ", length, " bytes, but the file has ", bytes.size(),
                           ": truncated, or no safetensors file");
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + sizeof length;
  const auto header = env::json_or_discarded({text, length});
  if (!header.is_object()) return Status::corrupt(what, ": its header is not a JSON object");
  Safetensors file;
  const auto data = bytes.subspan(sizeof length + length);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return Status::corrupt(what, ": its metadata is not an object");
      for (const auto& [key, value] : entry.items())
        if (value.is_string()) file.metadata[key] = value.get<std::string>();
      continue;
    }
    auto tensor = tensor_of(name, entry, data);
    if (!tensor.ok()) return std::move(tensor).status().at(what);
    file.tensors.push_back(*std::move(tensor));
  }
  return file;
}

const NamedTensor* Safetensors::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

} // namespace dlhost::param
