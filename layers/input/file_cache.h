// Caches small files that are read in every epoch, as stored, up to a number of bytes; further files are read each
// time. Thread: any; no task waits for another.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dlhost/host.h>

namespace dlhost::input {

class FileCache {
 public:
  FileCache(std::int64_t files, std::uint64_t limit) : kept_(static_cast<std::size_t>(files)), limit_(limit) {}
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;
  ~FileCache();

  // The bytes of file number `file`. Calls path() only if the file is not cached. The bytes lie in the cache, or in
  // `hold` until its next use.
  template <class Path>
  Result<std::span<const std::byte>> read(Disk& disk, std::int64_t file, Path&& path, std::vector<std::byte>& hold) {
    const auto& place = kept_[static_cast<std::size_t>(file)];
    if (const Kept* kept = place.load(std::memory_order_acquire)) return std::span<const std::byte>(kept->bytes);
    return read_new(disk, file, path(), hold);
  }

 private:
  struct Kept {
    std::vector<std::byte> bytes;
  };
  Result<std::span<const std::byte>> read_new(Disk&, std::int64_t file, const std::string& path,
                                              std::vector<std::byte>& hold);

  std::vector<std::atomic<const Kept*>> kept_;
  std::atomic<std::uint64_t> used_{0};
  std::uint64_t limit_;
};

} // namespace dlhost::input
