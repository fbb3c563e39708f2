#include <dlhost/host.h>

namespace dlhost {

Clock::~Clock() = default;
Task::~Task() = default;
Waiter::~Waiter() = default;
Tasks::~Tasks() = default;
File::~File() = default;
NewFile::~NewFile() = default;
LogFile::~LogFile() = default;
Disk::~Disk() = default;
Log::~Log() = default;
Host::~Host() = default;

Result<std::vector<std::byte>> Disk::read_all(const std::string& path, std::uint64_t limit) {
  DLHOST_ASSIGN(auto file, open(path));
  const std::uint64_t size = file->size();
  if (size > limit) return Status::invalid(path, ": ", size, " bytes, but at most ", limit, " are read here");
  std::vector<std::byte> bytes(size);
  DLHOST_TRY(file->read_at(0, bytes));
  return bytes;
}

Result<std::string> Disk::read_text(const std::string& path, std::uint64_t limit) {
  DLHOST_ASSIGN(auto file, open(path));
  const std::uint64_t size = file->size();
  if (size > limit) return Status::invalid(path, ": ", size, " bytes, but at most ", limit, " are read here");
  std::string text(size, '\0');
  DLHOST_TRY(file->read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

Status Disk::write_all(const std::string& path, std::span<const std::byte> bytes) {
  DLHOST_ASSIGN(auto file, create(path));
  DLHOST_TRY(file->append(bytes));
  return file->commit();
}

Status Disk::write_text(const std::string& path, std::string_view text) {
  return write_all(path, std::as_bytes(std::span(text)));
}

} // namespace dlhost
