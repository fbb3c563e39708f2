// The bytes of a data file, for sources that keep a file in memory: mapped if plain on disk, held if unpacked. Made in
// Source::open. Thread: any after that.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/status.h>

namespace dlhost::input {

class Content {
 public:
  // Unpacks gzip, detected by its first bytes, not by the file's name. Errors start with the path.
  static Result<Content> open(Disk&, const std::string& path);

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  Content() = default;

  std::unique_ptr<File> file_; // keeps the mapping alive
  std::vector<std::byte> held_;
  std::span<const std::byte> bytes_;
};

// Resolves a path of a job file: relative ones start at the job file's folder.
std::string beside(const std::string& folder, const std::string& path);

} // namespace dlhost::input
