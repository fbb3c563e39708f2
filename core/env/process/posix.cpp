#include "env/process/posix.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace dlhost::env {

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Status failed(int error, std::string_view doing, const std::string& path) {
  Status status = Status::system(error, concat("cannot ", doing, " ", path));
  if (error == EFBIG)
    return Status::io(status.message(), "; this process may write no larger files (ulimit -f): raise that limit");
  if (error != ENOSPC && error != EDQUOT) return status;
  struct statvfs space {};
  std::string left;
  if (::statvfs(folder_of(path).c_str(), &space) == 0)
    left = concat(" (", space.f_bavail * (space.f_frsize >> 10), " KiB are free there)");
  return Status::no_space(status.message(), left, "; free some space, or choose another folder");
}

Status check_path(const std::string& path, std::string_view doing) {
  const auto zero = path.find('\0');
  if (zero == std::string::npos) return {};
  return Status::invalid("cannot ", doing, " ", path.substr(0, zero),
                         "\\0...: a path with a byte of zero names nothing");
}

Status write_whole(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(errno, "write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status sync_folder(const std::string& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.valid()) return failed(errno, "open", folder);
  // Some file systems cannot sync a folder, and then need not.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) return failed(errno, "sync", folder);
  return {};
}

} // namespace dlhost::env
