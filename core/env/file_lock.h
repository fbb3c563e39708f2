// A file that one process at a time holds. The kernel lets go of it when that process ends, however it ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <dlhost/status.h>

#include "env/posix.h"

namespace dlhost::env {

class FileLock {
 public:
  // Makes the file where there is none. None: another process holds it.
  static Result<std::optional<FileLock>> take(const std::string& path);
  // Whether somebody holds it. Does not touch it, so that nobody who wants it meets this.
  static Result<bool> held(const std::string& path);
  // What others are to know of the holder, in place of what the file said.
  Status write(std::string_view text);

 private:
  FileLock(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Descriptor file_;
  std::string path_;
};

} // namespace dlhost::env
