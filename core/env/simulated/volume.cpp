#include "env/simulated/volume.h"

#include <algorithm>
#include <filesystem>

namespace dlhost::env::simulated {
namespace {

bool lies_in(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.starts_with(folder) && (folder == "/" || path[folder.size()] == '/');
}

} // namespace

std::string Volume::normal(const std::string& path) {
  std::string made = (std::filesystem::path("/") / path).lexically_normal().string();
  while (made.size() > 1 && made.ends_with('/')) made.pop_back();
  return made;
}

std::shared_ptr<Content> Volume::find(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : found->second;
}

std::vector<DirectoryEntry> Volume::list(const std::string& path) const {
  std::vector<DirectoryEntry> entries;
  const auto add = [&](const std::string& full, bool directory, std::uint64_t size) {
    if (!lies_in(full, path)) return;
    const std::string name = full.substr(path == "/" ? 1 : path.size() + 1);
    if (name.find('/') == std::string::npos) entries.push_back({name, directory, size});
  };
  for (const auto& [name, content] : files_) add(name, false, content->bytes.size());
  for (const auto& name : folders_) add(name, true, 0);
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

void Volume::put(const std::string& path, std::shared_ptr<Content> content) { files_[path] = std::move(content); }

bool Volume::make_folder(const std::string& path) {
  for (std::string folder = path; folder != "/"; folder = std::filesystem::path(folder).parent_path().string())
    if (files_.contains(folder)) return false;
  for (std::string folder = path; folder != "/"; folder = std::filesystem::path(folder).parent_path().string())
    folders_.insert(folder);
  return true;
}

void Volume::move(const std::string& from, const std::string& to) {
  remove(to);
  if (auto file = files_.extract(from)) {
    file.key() = to;
    files_.insert(std::move(file));
    return;
  }
  std::map<std::string, std::shared_ptr<Content>> files;
  std::set<std::string> folders{to};
  for (const auto& [name, content] : files_)
    if (lies_in(name, from)) files.emplace(to + name.substr(from.size()), content);
  for (const auto& name : folders_)
    if (lies_in(name, from)) folders.insert(to + name.substr(from.size()));
  remove(from);
  files_.merge(files);
  folders_.merge(folders);
}

void Volume::remove(const std::string& path) {
  const auto gone = [&](const std::string& name) { return name == path || lies_in(name, path); };
  std::erase_if(files_, [&](const auto& file) { return gone(file.first); });
  std::erase_if(folders_, gone);
}

std::uint64_t Volume::used() const {
  std::uint64_t bytes = pending_;
  for (const auto& [name, content] : files_) bytes += content->bytes.size();
  return bytes;
}

bool Volume::take(std::uint64_t bytes) {
  if (limit_ != std::numeric_limits<std::uint64_t>::max() && used() + bytes > limit_) return false;
  pending_ += bytes;
  return true;
}

void Volume::crash(const Below& below) {
  for (const auto& [name, content] : files_) {
    const std::size_t written = content->bytes.size() - content->synced;
    if (written == 0) continue;
    content->synced += below(static_cast<std::uint32_t>(written + 1));
    content->bytes.resize(content->synced);
  }
}

} // namespace dlhost::env::simulated
