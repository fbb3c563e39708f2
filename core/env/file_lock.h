// A lock on a file: exclusive, or shared by several processes. The kernel releases it when its process ends, in any
// way. Errors: Code::unsupported if the file system has no locks.
#pragma once

#include <optional>
#include <string>

#include <dlhost/status.h>

#include "env/process/posix.h"

namespace dlhost::env {

class FileLock {
 public:
  // Takes an exclusive lock; makes the file if it is missing. None: another process holds a lock.
  static Result<std::optional<FileLock>> take(const std::string& path);
  // Takes a shared lock. None: another process holds an exclusive one.
  static Result<std::optional<FileLock>> share(const std::string& path);
  // Takes over a lock by its descriptor, which this process' program before exec has handed over.
  static Result<FileLock> adopt(int descriptor, std::string path);
  // Gives up the lock to the program that this process runs next; returns its descriptor.
  Result<int> hand_over();
  // Whether a process holds a lock. Takes none itself, so that it never gets in the way of take().
  static Result<bool> held(const std::string& path);

 private:
  static Result<std::optional<FileLock>> lock(const std::string& path, short type);
  FileLock(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Descriptor file_;
  std::string path_;
};

} // namespace dlhost::env
