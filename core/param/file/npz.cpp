#include "param/file/npz.h"

#include <algorithm>
#include <cstring>

#include <zip.h>

#include <dlhost/npy.h>

#include "param/file/plain.h"

namespace dlhost::param {

const bool npz_built = true;

namespace {

// No deflate stream unpacks to more than about a thousand times its length.
constexpr std::uint64_t most_unpacked = 1040;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
struct FreeSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

std::string words_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

Result<Archive> open_archive(zip_source_t* source, int flags) {
  zip_error_t error;
  zip_error_init(&error);
  Archive archive(zip_open_from_source(source, flags, &error));
  if (archive) return archive;
  zip_source_free(source);
  return Status::corrupt("is no npz file, or a broken one: ", words_of(error));
}

// What is there counts in the order of the archive, so a file that lies is found before its claim is believed.
Result<std::unique_ptr<std::byte[]>> unpack(zip_t& archive, zip_uint64_t index, std::uint64_t size) {
  const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen_index(&archive, index, 0));
  if (!entry) return Status::corrupt(zip_strerror(&archive));
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(size);
  const auto read = zip_fread(entry.get(), bytes.get(), size);
  std::byte behind{};
  const auto more = read < 0 ? read : zip_fread(entry.get(), &behind, 1); // at the end libzip checks the sum
  if (more < 0) return Status::corrupt(zip_error_strerror(zip_file_get_error(entry.get())));
  if (static_cast<std::uint64_t>(read) != size || more > 0)
    return Status::corrupt("does not have the ", size, " bytes that the archive says");
  return bytes;
}

void swap_bytes(std::span<std::byte> bytes, std::size_t element) {
  for (std::size_t at = 0; at + element <= bytes.size(); at += element)
    std::reverse(bytes.data() + at, bytes.data() + at + element);
}

// Fortran order is C order of the axes reversed.
std::unique_ptr<std::byte[]> in_c_order(std::span<const std::byte> data, const std::vector<std::int64_t>& shape,
                                        std::size_t element) {
  auto result = std::make_unique_for_overwrite<std::byte[]>(data.size());
  const std::vector<std::int64_t> reversed(shape.rbegin(), shape.rend());
  std::vector<std::int64_t> order;
  for (auto axis = static_cast<std::int64_t>(shape.size()); axis-- > 0;) order.push_back(axis);
  std::byte* to = result.get();
  each_reordered(reversed, order, [&](std::size_t from) {
    std::memcpy(to, data.data() + from * element, element);
    to += element;
  });
  return result;
}

Status add_array(Npz& npz, std::string name, std::unique_ptr<std::byte[]> bytes, std::size_t size) {
  DLHOST_ASSIGN(auto array, parse_npy({bytes.get(), size}));
  const auto dtype = npy_dtype(array.type);
  if (!dtype) return Status::unsupported("elements of type '", array.type, "' are not read; save the array as float32");
  const std::size_t element = size_of(*dtype);
  std::uint64_t expected = element;
  for (const auto dim : array.shape)
    if (__builtin_mul_overflow(expected, static_cast<std::uint64_t>(dim), &expected))
      return Status::corrupt("its shape is larger than any memory");
  if (expected != array.data.size())
    return Status::corrupt("its shape makes ", expected, " bytes, but there are ", array.data.size());
  if (array.type.front() == '>') swap_bytes({bytes.get() + (size - array.data.size()), array.data.size()}, element);
  std::span<const std::byte> data = array.data;
  if (array.fortran_order && array.shape.size() > 1 && !data.empty()) {
    npz.unpacked.push_back(in_c_order(data, array.shape, element));
    data = {npz.unpacked.back().get(), data.size()};
  } else {
    npz.unpacked.push_back(std::move(bytes));
  }
  npz.tensors.push_back({.name = std::move(name), .dtype = *dtype, .shape = std::move(array.shape), .bytes = data});
  return {};
}

Status add_entry(Npz& npz, zip_t& archive, zip_uint64_t index, std::uint64_t& allowance) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat_index(&archive, index, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_NAME))
    return Status::corrupt("entry ", index, ": ", zip_strerror(&archive));
  std::string name = stat.name;
  if (!name.ends_with(".npy")) return {}; // not an array: somebody's notes
  if (!(stat.valid & ZIP_STAT_SIZE) || stat.size > allowance)
    return Status::corrupt("array '", name, "' claims more than an archive of this size can hold");
  allowance -= stat.size;
  auto bytes = unpack(archive, index, stat.size);
  if (!bytes.ok()) return std::move(bytes).status().at("array '", name, "'");
  const std::string array = name.substr(0, name.size() - 4);
  return add_array(npz, array, *std::move(bytes), stat.size).at("array '", array, "'");
}

} // namespace

Result<Npz> parse_npz(std::span<const std::byte> bytes, const std::string& what) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (!source) return Status::no_space(what, ": ", words_of(error));
  auto archive = open_archive(source, ZIP_RDONLY);
  if (!archive.ok()) return std::move(archive).status().at(what);
  Npz npz;
  std::uint64_t allowance = bytes.size() * most_unpacked;
  const auto entries = static_cast<zip_uint64_t>(zip_get_num_entries(archive->get(), 0));
  for (zip_uint64_t index = 0; index < entries; ++index)
    DLHOST_TRY(add_entry(npz, **archive, index, allowance).at(what));
  std::ranges::sort(npz.tensors, {}, &NamedTensor::name);
  return npz;
}

Status write_npz(Disk& disk, const std::string& path, std::span<const NamedTensor> tensors) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* made = zip_source_buffer_create(nullptr, 0, 0, &error);
  if (!made) return Status::no_space(path, ": ", words_of(error));
  const std::unique_ptr<zip_source_t, FreeSource> whole(made);
  zip_source_keep(made); // the archive takes one, the other reads what became of it
  auto archive = open_archive(made, ZIP_CREATE | ZIP_TRUNCATE);
  if (!archive.ok()) return std::move(archive).status().at(path);
  std::vector<std::string> arrays; // until the archive is closed
  arrays.reserve(tensors.size());
  const auto refused = [&] { return Status::io(path, ": ", zip_strerror(archive->get())); };
  for (const auto& tensor : tensors) {
    std::string& array = arrays.emplace_back(npy_header(tensor.dtype, tensor.shape));
    array.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    zip_source_t* source = zip_source_buffer(archive->get(), array.data(), array.size(), 0);
    if (!source) return refused();
    const auto index = zip_file_add(archive->get(), (tensor.name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      return refused();
    }
    const auto entry = static_cast<zip_uint64_t>(index);
    constexpr zip_uint16_t first_day = 1 << 5 | 1; // of 1980: equal params make equal files
    if (zip_set_file_compression(archive->get(), entry, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive->get(), entry, 0, first_day, 0) != 0)
      return refused();
  }
  if (zip_close(archive->get()) != 0) return refused();
  static_cast<void>(archive->release());
  if (zip_source_open(made) != 0) return Status::io(path, ": ", zip_error_strerror(zip_source_error(made)));
  std::vector<std::byte> bytes;
  zip_stat_t stat;
  if (zip_source_stat(made, &stat) == 0) bytes.resize(stat.size);
  const bool read = zip_source_read(made, bytes.data(), bytes.size()) == static_cast<zip_int64_t>(bytes.size());
  zip_source_close(made);
  return read ? disk.write_all(path, bytes) : Status::io(path, ": the archive cannot be read back");
}

} // namespace dlhost::param
