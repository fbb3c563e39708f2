#include "env/file_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace dlhost::env {

Result<std::optional<FileLock>> FileLock::take(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return failed(errno, "open", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<FileLock>();
    return failed(errno, "lock", path);
  }
  return std::optional(FileLock(std::move(file), path));
}

Status FileLock::write(std::string_view text) {
  if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0) return failed(errno, "write", path_);
  return write_whole(file_.get(), std::as_bytes(std::span(text)), path_);
}

} // namespace dlhost::env
