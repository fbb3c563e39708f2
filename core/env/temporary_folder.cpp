#include "env/temporary_folder.h"

#include <cerrno>
#include <filesystem>

#include <stdio.h>
#include <stdlib.h>

namespace dlhost::env {
namespace {

constexpr const char* lock_name = "/in-use";

void clear_abandoned(const std::filesystem::path& place, const std::string& prefix) {
  std::error_code ignored; // what is another user's is not ours to clear
  for (const auto& entry : std::filesystem::directory_iterator(place, ignored)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(prefix) || !std::filesystem::exists(path + lock_name, ignored))
      continue;
    if (const auto lock = FileLock::take(path + lock_name); lock.ok() && *lock)
      std::filesystem::remove_all(path, ignored);
  }
}

} // namespace

// Nobody else looks at it before it has its name, and then it is locked.
Result<TemporaryFolder> TemporaryFolder::make(const std::string& prefix) {
  std::error_code unknown;
  const auto place = std::filesystem::temp_directory_path(unknown);
  if (unknown) return Status::io("there is no folder for temporary files (", unknown.message(), "): set TMPDIR");
  clear_abandoned(place, prefix);
  std::string path = (place / ("new-" + prefix + "XXXXXX")).string();
  if (!::mkdtemp(path.data())) return Status::system(errno, concat("make a folder in ", place.string()));
  DLHOST_ASSIGN(auto lock, FileLock::take(path + lock_name));
  if (!lock) return Status::internal("'", path, "' is new, but another process holds it");
  const std::string name = (place / (prefix + path.substr(path.size() - 6))).string();
  if (::rename(path.c_str(), name.c_str()) != 0) return failed(errno, "rename", path);
  return TemporaryFolder(name, *std::move(lock));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored; // what cannot be removed is the system's to clean
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

} // namespace dlhost::env
