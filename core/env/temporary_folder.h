// A temporary folder of this process, removed with its contents by the destructor. If the process is killed, the next
// process that makes a folder of the same prefix removes it.
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
  // Leaves the folder to the processes that share it.
  void let_go() { path_.clear(); }
  const std::string& path() const { return path_; }

 private:
  static Result<TemporaryFolder> make_one(const std::string& place, const std::string& prefix);
  TemporaryFolder(std::string path, FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  FileLock lock_; // shared: the folder is in use
};

// Another process' use of such a folder: the folder stays meanwhile, and if its owner is gone the last user removes it.
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
