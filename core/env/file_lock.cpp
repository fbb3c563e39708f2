#include "env/file_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace dlhost::env {
namespace {

struct flock whole_file(short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return whole;
}

} // namespace

// The lock belongs to the open file, not to the process: it survives closing another handle of the file, and exec.
Result<std::optional<FileLock>> FileLock::lock(const std::string& path, short type) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644));
  if (!file.valid()) return failed(errno, "open", path);
  struct flock whole = whole_file(type);
  if (::fcntl(file.get(), F_OFD_SETLK, &whole) == 0) return std::optional(FileLock(std::move(file), path));
  if (errno == EAGAIN || errno == EACCES) return std::optional<FileLock>();
  if (errno == ENOLCK || errno == EOPNOTSUPP || errno == EINVAL)
    return Status::unsupported("the file system of '", path, "' has no file locks");
  return failed(errno, "lock", path);
}

Result<std::optional<FileLock>> FileLock::take(const std::string& path) { return lock(path, F_WRLCK); }
Result<std::optional<FileLock>> FileLock::share(const std::string& path) { return lock(path, F_RDLCK); }

// Child processes must not inherit the descriptor: they would hold the lock for as long as they live.
Result<FileLock> FileLock::adopt(int descriptor, std::string path) {
  FileLock lock(Descriptor(descriptor), std::move(path));
  if (::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) return failed(errno, "take over the lock of", lock.path_);
  return lock;
}

Result<int> FileLock::hand_over() {
  if (::fcntl(file_.get(), F_SETFD, 0) != 0) return failed(errno, "hand over", path_);
  return file_.release();
}

Result<bool> FileLock::held(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return errno == ENOENT ? Result<bool>(false) : failed(errno, "open", path);
  struct flock whole = whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_OFD_GETLK, &whole) != 0) return failed(errno, "look at the lock of", path);
  return whole.l_type != F_UNLCK;
}

} // namespace dlhost::env
