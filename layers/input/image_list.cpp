#include "image_list.h"

#include <algorithm>
#include <charconv>

#include "content.h"

namespace dlhost::input {

namespace {

constexpr int deepest = 8; // levels of folders below a class

bool is_picture(std::string_view file) {
  std::string end(file.substr(file.rfind('.') + 1));
  std::ranges::transform(end, end.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return end == "jpg" || end == "jpeg" || end == "png";
}

} // namespace

void ImageList::add(std::string_view path, std::int32_t label) {
  paths_ += path;
  ends_.push_back(paths_.size());
  labels_.push_back(label);
}

std::string ImageList::path(std::int64_t image) const {
  const auto i = static_cast<std::size_t>(image);
  const std::uint64_t start = i == 0 ? 0 : ends_[i - 1];
  return beside(folder_, paths_.substr(start, ends_[i] - start));
}

Status ImageList::add_folder(Disk& disk, const std::string& below, std::int32_t label, int depth) {
  DLHOST_ASSIGN(const auto entries, disk.list(beside(folder_, below)));
  for (const DirectoryEntry& entry : entries) {
    const std::string path = below + "/" + entry.name;
    if (entry.directory && depth < deepest) DLHOST_TRY(add_folder(disk, path, label, depth + 1));
    if (!entry.directory && is_picture(entry.name)) add(path, label);
  }
  return {};
}

Result<ImageList> ImageList::in_folder(Disk& disk, const std::string& folder, const std::vector<std::string>* classes) {
  ImageList list(folder);
  DLHOST_ASSIGN(const auto entries, disk.list(folder));
  if (classes) {
    list.classes_ = *classes;
  } else {
    DLHOST_ASSIGN(list.classes_, classes_in(disk, folder));
  }
  for (const DirectoryEntry& entry : entries) {
    if (!entry.directory || entry.name.starts_with('.')) continue;
    const auto known = std::ranges::find(list.classes_, entry.name);
    if (known == list.classes_.end())
      return Status::invalid(folder, "/", entry.name, ": there is no class of this name in training");
    DLHOST_TRY(list.add_folder(disk, entry.name, static_cast<std::int32_t>(known - list.classes_.begin()), 0));
  }
  if (list.count() == 0)
    return Status::invalid(folder, ": has no pictures (.jpg, .jpeg, .png) in folders named after their classes");
  return list;
}

Result<std::vector<std::string>> ImageList::classes_in(Disk& disk, const std::string& folder) {
  std::vector<std::string> classes;
  DLHOST_ASSIGN(const auto entries, disk.list(folder));
  for (const DirectoryEntry& entry : entries)
    if (entry.directory && !entry.name.starts_with('.')) classes.push_back(entry.name);
  return classes;
}

Result<ImageList> ImageList::of(Disk& disk, const std::vector<std::string>& paths) {
  ImageList list("");
  for (const std::string& path : paths) {
    if (!disk.list(path).ok()) {
      if (!disk.exists(path)) return Status::not_found(path, ": no picture or folder has this name");
      list.add(path, 0);
      continue;
    }
    const auto before = list.count();
    DLHOST_TRY(list.add_folder(disk, path, 0, 0));
    if (list.count() == before) return Status::invalid(path, ": has no pictures (.jpg, .jpeg, .png)");
  }
  return list;
}

Result<ImageList> ImageList::parse(std::string_view text, const std::string& folder) {
  ImageList list(folder);
  for (std::int64_t number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto gap = line.find_last_of(" \t");
    std::int32_t label = -1;
    if (gap != std::string_view::npos && gap > 0)
      std::from_chars(line.data() + gap + 1, line.data() + line.size(), label);
    if (label < 0) return Status::corrupt("line ", number, ": wants a path and the number of a class, 0, 1, ...");
    list.add(line.substr(0, line.find_last_not_of(" \t", gap) + 1), label);
  }
  if (list.count() == 0) return Status::invalid("names no pictures");
  return list;
}

} // namespace dlhost::input
