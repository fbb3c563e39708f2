#include "plugin/mapped.h"

#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlhost::plugin {

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: a FIFO or a device must not make the search wait.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Status::system(errno, "it cannot be opened");
  struct stat about {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    ::close(file);
    return Status::invalid("it is not a regular file");
  }
  if (about.st_size == 0) {
    ::close(file);
    return MappedFile({});
  }
  const auto size = static_cast<std::size_t>(about.st_size);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  ::close(file);
  if (memory == MAP_FAILED) return Status::system(error, "it cannot be read");
  return MappedFile({static_cast<const std::byte*>(memory), size});
}

std::string MappedFile::name_of(const std::string& path) {
  std::error_code failed;
  return std::filesystem::canonical(path, failed).filename().string();
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

} // namespace dlhost::plugin
