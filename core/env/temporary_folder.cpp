#include "env/temporary_folder.h"

#include <cerrno>
#include <chrono>
#include <filesystem>

#include <stdio.h>
#include <stdlib.h>

namespace dlhost::env {
namespace {

constexpr const char* lock_name = "/in-use"; // shared by all who use it
constexpr std::size_t drawn = 6;             // letters at the end of a name

// One lock, not one for the owner and one for the others: of two who leave at once, each could then meet the other with
// one of the two, and neither would remove the folder.
void remove_if_abandoned(const std::string& path) {
  std::error_code ignored; // what is another user's is not ours to clear
  if (!std::filesystem::exists(path + lock_name, ignored)) return;
  const auto alone = FileLock::take(path + lock_name);
  if (alone.ok() && *alone) std::filesystem::remove_all(path, ignored);
}

constexpr const char* unnamed = "new-"; // begins the name of one that is not locked yet

// Of the same prefix: those whose owner was killed, also before they had their name.
void clear_abandoned(const std::filesystem::path& place, const std::string& prefix) {
  constexpr auto to_name_one = std::chrono::minutes(1);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(place, ignored)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(prefix)) remove_if_abandoned(entry.path().string());
    const auto made = entry.last_write_time(ignored);
    if (name.starts_with(unnamed + prefix) && std::filesystem::file_time_type::clock::now() - made > to_name_one)
      std::filesystem::remove_all(entry.path(), ignored);
  }
}

} // namespace

// Nobody else looks at it before it has its name, and then it is locked.
Result<TemporaryFolder> TemporaryFolder::make(const std::string& prefix) {
  std::error_code unknown;
  const auto place = std::filesystem::temp_directory_path(unknown);
  if (unknown) return Status::io("there is no folder for temporary files (", unknown.message(), "): set TMPDIR");
  clear_abandoned(place, prefix);
  std::string path = (place / (unnamed + prefix + "XXXXXX")).string();
  if (!::mkdtemp(path.data())) return Status::system(errno, concat("make a folder in ", place.string()));
  DLHOST_ASSIGN(auto lock, FileLock::share(path + lock_name));
  if (!lock) return Status::internal("'", path, "' is new, but another process holds it");
  const std::string name = (place / (prefix + path.substr(path.size() - drawn))).string();
  if (::rename(path.c_str(), name.c_str()) != 0) return failed(errno, "rename", path);
  return TemporaryFolder(name, *std::move(lock));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;   // what cannot be removed is the system's to clean
  if (path_.empty()) return; // moved from
  std::filesystem::remove_all(path_, ignored);
  const std::filesystem::path own = path_;
  const auto name = own.filename().string();
  clear_abandoned(own.parent_path(), name.substr(0, name.size() - drawn));
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
