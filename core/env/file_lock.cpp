#include "env/file_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace dlhost::env {
namespace {

struct flock whole_file() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

} // namespace

// Locks of open files, not of processes: closing another handle of the file does not lose them.
Result<std::optional<FileLock>> FileLock::take(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return failed(errno, "open", path);
  struct flock whole = whole_file();
  if (::fcntl(file.get(), F_OFD_SETLK, &whole) != 0) {
    if (errno == EAGAIN || errno == EACCES) return std::optional<FileLock>();
    return failed(errno, "lock", path);
  }
  return std::optional(FileLock(std::move(file), path));
}

Result<bool> FileLock::held(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return errno == ENOENT ? Result<bool>(false) : failed(errno, "open", path);
  struct flock whole = whole_file();
  if (::fcntl(file.get(), F_OFD_GETLK, &whole) != 0) return failed(errno, "look at the lock of", path);
  return whole.l_type != F_UNLCK;
}

Status FileLock::write(std::string_view text) {
  if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0) return failed(errno, "write", path_);
  return write_whole(file_.get(), std::as_bytes(std::span(text)), path_);
}

} // namespace dlhost::env
