#include "env/temporary_folder.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string_view>

#include <stdio.h>
#include <stdlib.h>

#include "env/process/process.h"

namespace dlhost::env {
namespace {

constexpr const char* lock_file = "in-use"; // shared by all users of the folder
constexpr const char* lock_name = "/in-use";
constexpr std::size_t drawn = 6; // random letters at the end of a name

// One lock for owner and joiners: with two, if both left at once, each could find the other's lock taken, and neither
// would remove the folder. A folder with a name and without the lock file has lost its file to a removal that another
// process is at, or was killed over.
void remove_if_abandoned(const std::string& path) {
  std::error_code ignored; // another user's folder stays
  std::optional<FileLock> alone;
  if (std::filesystem::exists(path + lock_name, ignored)) {
    auto lock = FileLock::take(path + lock_name);
    if (!lock.ok() || !*lock) return;
    alone = *std::move(lock);
  }
  std::filesystem::remove_all(path, ignored);
}

// Before it is locked, a folder is called so, with the prefix, its maker's process number, and the letters.
constexpr const char* unnamed = "new-";

// Whether a folder that is not locked yet has lost its maker. The process number may belong to another process by now,
// or to one of another container that shares this place: time decides then.
bool has_no_maker(const std::filesystem::directory_entry& entry, std::string_view after_prefix) {
  constexpr auto to_name_one = std::chrono::minutes(1);
  int maker = 0;
  const auto [end, error] = std::from_chars(after_prefix.data(), after_prefix.data() + after_prefix.size(), maker);
  if (error == std::errc() && *end == '-' && maker > 0 && !runs(maker)) return true;
  std::error_code ignored;
  const auto made = entry.last_write_time(ignored);
  return !ignored && std::filesystem::file_time_type::clock::now() - made > to_name_one;
}

// Removes folders of this prefix whose owner was killed, also before they got their name. If a folder is removed here
// before its process locks it, that process makes another.
void clear_abandoned(const std::filesystem::path& place, const std::string& prefix) {
  const auto without_name = unnamed + prefix;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(place, ignored)) {
    const auto name = entry.path().filename().string();
    const bool has_name = name.starts_with(prefix);
    if (!has_name && !name.starts_with(without_name)) continue;
    const bool is_locked = std::filesystem::exists(entry.path() / lock_file, ignored);
    if (has_name || is_locked || has_no_maker(entry, std::string_view(name).substr(without_name.size())))
      remove_if_abandoned(entry.path().string());
  }
}

} // namespace

// The folder gets its name after it is locked. Errors: Code::not_found if another process took it for abandoned and
// removed it.
Result<TemporaryFolder> TemporaryFolder::make_one(const std::string& place, const std::string& prefix) {
  std::string path = concat(place, "/", unnamed, prefix, own_process(), "-XXXXXX");
  if (!::mkdtemp(path.data())) return Status::system(errno, concat("make a folder in ", place));
  auto lock = FileLock::share(path + lock_name);
  if (!lock.ok() && std::filesystem::exists(path)) return lock.status();
  const std::string name = concat(place, "/", prefix, path.substr(path.size() - drawn));
  const bool is_gone = !lock.ok() || !*lock;
  if (is_gone || ::rename(path.c_str(), name.c_str()) != 0) {
    if (is_gone || errno == ENOENT)
      return Status::not_found("'", path, "' was removed by a process that took it for an abandoned one");
    return failed(errno, "rename", path);
  }
  return TemporaryFolder(name, **std::move(lock));
}

Result<TemporaryFolder> TemporaryFolder::make(const std::string& prefix) {
  constexpr int tries = 10;
  std::error_code unknown;
  const auto place = std::filesystem::temp_directory_path(unknown);
  if (unknown) return Status::io("there is no folder for temporary files (", unknown.message(), "): set TMPDIR");
  clear_abandoned(place, prefix);
  auto made = make_one(place.string(), prefix);
  for (int i = 1; i < tries && made.status().code() == Code::not_found; ++i) made = make_one(place.string(), prefix);
  return made;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;   // what stays is left to the system's cleaning
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
