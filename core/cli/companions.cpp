#include "cli/companions.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <unistd.h>

#include "plugin/search.h"

namespace dlhost::cli {

namespace fs = std::filesystem;

Companions::Companions(Context& context, const std::vector<std::string>& places) : context_(context) {
  const auto settings = plugin::settings_of_process({});
  install_folder_ = settings.install_folder;
  for (const auto& place : places)
    folders_.push_back(fs::path(concat(settings.program_folder, "/", place)).lexically_normal().string());
}

std::string Companions::find(std::string_view name) const {
  for (const auto& folder : folders_)
    if (const std::string path = concat(folder, "/", name);
        fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0)
      return path;
  return {};
}

std::vector<std::string> Companions::names() const {
  std::vector<std::string> names;
  for (const auto& folder : folders_) {
    std::error_code error;
    for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error))
      if (file->path().extension().empty() && !find(file->path().filename().string()).empty())
        names.push_back(file->path().filename().string());
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string Companions::looked() const {
  std::string looked;
  for (const auto& folder : folders_) looked += concat(looked.empty() ? "" : " and ", folder);
  return looked;
}

std::vector<std::string> Companions::plugin_folders() const {
  std::vector<std::string> folders = context_.plugin_dirs;
  if (context_.host.disk().exists(install_folder_)) folders.push_back(install_folder_);
  return folders;
}

Status become(const std::string& path, std::vector<std::string> words) {
  std::string name = path;
  std::vector<char*> arguments{name.data()};
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  return Status::system(errno, concat("cannot run ", path));
}

} // namespace dlhost::cli
