#include "env/temporary_folder.h"

#include <cerrno>
#include <filesystem>

#include <stdio.h>
#include <stdlib.h>

namespace dlhost::env {
namespace {

constexpr const char* lock_name = "/in-use"; // shared by all who use it

// One lock, not one for the owner and one for the others: of two who leave at once, each could then meet the other with
// one of the two, and neither would remove the folder.
void remove_if_abandoned(const std::string& path) {
  std::error_code ignored; // what is another user's is not ours to clear
  if (!std::filesystem::exists(path + lock_name, ignored)) return;
  const auto alone = FileLock::take(path + lock_name);
  if (alone.ok() && *alone) std::filesystem::remove_all(path, ignored);
}

void clear_abandoned(const std::filesystem::path& place, const std::string& prefix) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(place, ignored))
    if (entry.path().filename().string().starts_with(prefix)) remove_if_abandoned(entry.path().string());
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
  DLHOST_ASSIGN(auto lock, FileLock::share(path + lock_name));
  if (!lock) return Status::internal("'", path, "' is new, but another process holds it");
  const std::string name = (place / (prefix + path.substr(path.size() - 6))).string();
  if (::rename(path.c_str(), name.c_str()) != 0) return failed(errno, "rename", path);
  return TemporaryFolder(name, *std::move(lock));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored; // what cannot be removed is the system's to clean
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<SharedFolder> SharedFolder::join(std::string path) {
  DLHOST_ASSIGN(auto lock, FileLock::share(path + lock_name));
  if (!lock) return Status::gone("'", path, "' is being removed");
  return SharedFolder(std::move(path), *std::move(lock));
}

SharedFolder::~SharedFolder() {
  if (path_.empty()) return; // moved from
  lock_.reset();
  remove_if_abandoned(path_);
}

} // namespace dlhost::env
