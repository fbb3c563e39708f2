// A folder of this process' own for what nobody needs afterwards; it goes with all that is in it. One whose process was
// killed is removed by the next that makes one of that prefix.
#pragma once

#include <optional>
#include <string>

#include <dlhost/status.h>

#include "env/file_lock.h"

namespace dlhost::env {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make(const std::string& prefix);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
    other.path_.clear();
  }
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(lock_, other.lock_);
    return *this;
  }
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  static Result<TemporaryFolder> make_one(const std::string& place, const std::string& prefix);
  TemporaryFolder(std::string path, FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  FileLock lock_; // shared: it is in use
};

// Another process uses such a folder as well: it is not cleared meanwhile, and when its owner is gone the last to leave
// removes it.
class SharedFolder {
 public:
  static Result<SharedFolder> join(std::string path);
  SharedFolder(SharedFolder&&) noexcept = default;
  SharedFolder& operator=(SharedFolder&&) = delete;
  ~SharedFolder();

 private:
  SharedFolder(std::string path, FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  std::optional<FileLock> lock_;
};

} // namespace dlhost::env
