#include "env/disk.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "env/files.h"

namespace dlhost::env {

namespace fs = std::filesystem;

Result<std::unique_ptr<File>> PosixDisk::open(const std::string& path) { return PosixFile::open(path); }
Result<std::unique_ptr<NewFile>> PosixDisk::create(const std::string& path) { return PosixNewFile::create(path); }
Result<std::unique_ptr<LogFile>> PosixDisk::open_log(const std::string& path) { return PosixLogFile::open(path); }

Result<std::vector<DirectoryEntry>> PosixDisk::list(const std::string& path) {
  DLHOST_TRY(check_path(path, "list"));
  std::error_code error;
  std::vector<DirectoryEntry> entries;
  for (fs::directory_iterator item(path, error), end; !error && item != end; item.increment(error)) {
    // An entry that vanishes or cannot be read meanwhile gets size 0; opening it reports the error.
    std::error_code unreadable;
    const bool directory = item->is_directory(unreadable);
    const auto size = directory ? 0 : item->file_size(unreadable);
    entries.push_back({item->path().filename().string(), directory, unreadable ? 0 : size});
  }
  if (error) return failed(error.value(), "list", path);
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

Status PosixDisk::make_directory(const std::string& path) {
  DLHOST_TRY(check_path(path, "make the folder"));
  std::error_code error;
  std::vector<std::string> made;
  for (std::string folder = path; !folder.empty() && !exists(folder); folder = fs::path(folder).parent_path().string())
    made.push_back(folder);
  fs::create_directories(path, error);
  if (error) return failed(error.value(), "make the folder", path);
  if (!fs::is_directory(path, error)) return Status::exists("cannot make the folder ", path, ": a file has that name");
  for (const std::string& folder : made) DLHOST_TRY(sync_folder(folder_of(folder)));
  return {};
}

Status PosixDisk::rename(const std::string& from, const std::string& to) {
  DLHOST_TRY(check_path(from, "rename"));
  DLHOST_TRY(check_path(to, "rename to"));
  if (::rename(from.c_str(), to.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) return failed(errno, concat("rename ", from, " to"), to);
    // A folder that is not empty is replaced by exchange, so that the name always has a whole folder.
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0)
      return failed(errno, concat("rename ", from, " to"), to);
    DLHOST_TRY(remove(from));
  }
  return sync_folder(folder_of(to));
}

Status PosixDisk::remove(const std::string& path) {
  DLHOST_TRY(check_path(path, "remove"));
  std::error_code error;
  const auto removed = fs::remove_all(path, error);
  if (error) return failed(error.value(), "remove", path);
  return removed > 0 ? sync_folder(folder_of(path)) : Status();
}

bool PosixDisk::exists(const std::string& path) {
  return path.find('\0') == std::string::npos && ::access(path.c_str(), F_OK) == 0;
}

} // namespace dlhost::env
