// A file mapped for reading: only touched pages are read. Owned by one task.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <dlhost/status.h>

namespace dlhost::plugin {

class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  // The file's own name after all links; empty: the links lead nowhere.
  static std::string name_of(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

} // namespace dlhost::plugin
