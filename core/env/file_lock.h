// A file that one process at a time holds, or several that share it. The kernel lets go of it when they end, however
// they end. Code::unsupported where the file system knows no locks.
#pragma once

#include <optional>
#include <string>

#include <dlhost/status.h>

#include "env/process/posix.h"

namespace dlhost::env {

class FileLock {
 public:
  // Makes the file where there is none. None: another process holds it.
  static Result<std::optional<FileLock>> take(const std::string& path);
  // The same, beside others that share it.
  static Result<std::optional<FileLock>> share(const std::string& path);
  // One that the program before this one, in the same process, has handed over by its descriptor.
  static Result<FileLock> adopt(int descriptor, std::string path);
  // For the program that this process runs next; by this one it is given up.
  Result<int> hand_over();
  // Whether somebody holds it. Does not touch it, so that nobody who wants it meets this.
  static Result<bool> held(const std::string& path);

 private:
  static Result<std::optional<FileLock>> lock(const std::string& path, short type);
  FileLock(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Descriptor file_;
  std::string path_;
};

} // namespace dlhost::env
