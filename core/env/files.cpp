#include "env/files.h"

#include <atomic>
#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlhost::env {

namespace {

std::string_view word_of(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFDIR: return "a folder";
  case S_IFIFO: return "a pipe";
  case S_IFSOCK: return "a socket";
  default: return "a device";
  }
}

} // namespace

// Opens regular files only: a pipe waits for its writer, and a device may never end. O_NONBLOCK keeps open itself from
// waiting, so that the type of the file can be checked first.
Result<std::unique_ptr<File>> PosixFile::open(const std::string& path) {
  DLHOST_TRY(check_path(path, "open"));
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!descriptor.valid()) return failed(errno, "open", path);
  struct stat about {};
  if (::fstat(descriptor.get(), &about) != 0) return failed(errno, "look at", path);
  if (!S_ISREG(about.st_mode))
    return Status::invalid("cannot open ", path, ": it is ", word_of(about.st_mode), ", not a file");
  return std::unique_ptr<File>(
      std::make_unique<PosixFile>(path, std::move(descriptor), static_cast<std::uint64_t>(about.st_size)));
}

PosixFile::PosixFile(std::string path, Descriptor descriptor, std::uint64_t size)
    : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

PosixFile::~PosixFile() {
  if (!map_.empty()) ::munmap(const_cast<std::byte*>(map_.data()), map_.size());
}

Status PosixFile::read_at(std::uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno, "read", path_);
    if (got == 0)
      return Status::corrupt("cannot read ", path_, ": it ends at byte ", offset, ", ", into.size(),
                             " bytes too early; it was cut short");
    offset += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

std::span<const std::byte> PosixFile::map() {
  std::call_once(map_once_, [this] {
    if (size_ == 0) return;
    void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_.get(), 0);
    if (memory != MAP_FAILED) map_ = {static_cast<const std::byte*>(memory), size_};
  });
  return map_;
}

Result<std::unique_ptr<NewFile>> PosixNewFile::create(const std::string& path) {
  DLHOST_TRY(check_path(path, "create"));
  static std::atomic<unsigned> count{0};
  const auto slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty()) return Status::invalid("cannot create ", path, ": it names a folder, not a file");
  for (;;) {
    std::string hidden = concat(folder, ".", name, ".", static_cast<long>(::getpid()), ".", ++count, ".part");
    Descriptor descriptor(::open(hidden.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (descriptor.valid())
      return std::unique_ptr<NewFile>(std::make_unique<PosixNewFile>(path, std::move(hidden), std::move(descriptor)));
    if (errno != EEXIST) return failed(errno, "create", path); // EEXIST: a dead process with the same number left it
  }
}

PosixNewFile::PosixNewFile(std::string path, std::string hidden, Descriptor descriptor)
    : path_(std::move(path)), hidden_(std::move(hidden)), descriptor_(std::move(descriptor)) {}

PosixNewFile::~PosixNewFile() {
  if (!hidden_.empty()) ::unlink(hidden_.c_str());
}

Status PosixNewFile::append(std::span<const std::byte> bytes) {
  constexpr std::size_t worth_a_call = 256 << 10;
  if (gathered_.size() + bytes.size() > worth_a_call) DLHOST_TRY(flush());
  if (bytes.size() > worth_a_call) return write_whole(descriptor_.get(), bytes, path_);
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  return {};
}

Status PosixNewFile::flush() {
  DLHOST_TRY(write_whole(descriptor_.get(), gathered_, path_));
  gathered_.clear();
  return {};
}

Status PosixNewFile::commit() {
  if (hidden_.empty()) return Status::internal(path_, " is committed already");
  DLHOST_TRY(flush());
  if (::fsync(descriptor_.get()) != 0) return failed(errno, "sync", path_);
  // Some file systems report a full disk only here.
  if (::close(descriptor_.release()) != 0) return failed(errno, "close", path_);
  if (::rename(hidden_.c_str(), path_.c_str()) != 0) return failed(errno, "put into place", path_);
  hidden_.clear();
  return sync_folder(folder_of(path_));
}

Result<std::unique_ptr<LogFile>> PosixLogFile::open(const std::string& path) {
  DLHOST_TRY(check_path(path, "open"));
  constexpr int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  Descriptor descriptor(::open(path.c_str(), flags));
  if (!descriptor.valid() && errno == ENOENT) {
    descriptor = Descriptor(::open(path.c_str(), flags | O_CREAT, 0666));
    // A synced file is still lost if its folder entry is not synced.
    if (descriptor.valid()) DLHOST_TRY(sync_folder(folder_of(path)));
  }
  if (!descriptor.valid()) return failed(errno, "open", path);
  struct stat about {};
  if (::fstat(descriptor.get(), &about) != 0) return failed(errno, "look at", path);
  if (!S_ISREG(about.st_mode) && !S_ISCHR(about.st_mode)) // a device takes the lines, or reports an error
    return Status::invalid("cannot open ", path, ": it is ", word_of(about.st_mode), ", not a file");
  return std::unique_ptr<LogFile>(std::make_unique<PosixLogFile>(path, std::move(descriptor)));
}

Status PosixLogFile::append(std::string_view bytes) {
  const off_t before = ::lseek(descriptor_.get(), 0, SEEK_END);
  Status status = write_whole(descriptor_.get(), std::as_bytes(std::span(bytes)), path_);
  // A torn record at the end is worse than none.
  if (!status.ok() && ::lseek(descriptor_.get(), 0, SEEK_END) > before && ::ftruncate(descriptor_.get(), before) != 0)
    return std::move(status).at("the end of a log is torn");
  return status;
}

Status PosixLogFile::sync() {
  if (::fsync(descriptor_.get()) != 0 && errno != EINVAL) return failed(errno, "sync", path_);
  return {};
}

} // namespace dlhost::env
