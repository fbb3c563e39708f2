#include "plugin/search.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "env/process/process.h"
#include "plugin/mapped.h"

namespace dlhost::plugin {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void judge_file(Candidate& candidate, const HostTraits& host) {
  const auto file = MappedFile::open(candidate.path);
  if (!file.ok()) {
    // The permission check may have found the reason already.
    if (candidate.problems.empty()) candidate.problems.push_back(file.status().message());
    return;
  }
  auto stamp = read_stamp(file->bytes());
  if (!stamp.ok()) {
    candidate.problems.push_back(stamp.status().message());
    return;
  }
  auto verdict = judge(*stamp, host);
  candidate.stamp = *std::move(stamp);
  std::ranges::move(verdict.problems, std::back_inserter(candidate.problems));
  std::ranges::move(verdict.warnings, std::back_inserter(candidate.warnings));
  if (candidate.problems.empty()) return;
  // For a refused file, the symbols are checked as well, to report all problems at once. A good file's symbols are
  // checked when it is loaded.
  for (auto& problem : judge_symbols(file->bytes(), host).problems)
    if (std::ranges::find(candidate.problems, problem) == candidate.problems.end())
      candidate.problems.push_back(std::move(problem));
}

Candidate candidate_at(const std::string& path, std::size_t entry, const Trusted& trusted, const HostTraits& host) {
  Candidate candidate{.path = path, .entry = entry, .stamp = {}, .problems = permission_problems(path, trusted)};
  judge_file(candidate, host);
  return candidate;
}

} // namespace

bool Candidate::provides(const Product& product) const {
  return stamp && std::ranges::find(stamp->provides, product) != stamp->provides.end();
}

SearchSettings settings_of_process(std::vector<std::string> plugin_dirs) {
  SearchSettings settings{.plugin_dirs = std::move(plugin_dirs), .plugin_path = variable("DLHOST_PLUGIN_PATH")};
  settings.data_home = variable("XDG_DATA_HOME");
  const std::string home = variable("HOME");
  if (settings.data_home.empty() && !home.empty()) settings.data_home = home + "/.local/share";
  if (const auto folder = fs::path(env::own_program()).parent_path(); !folder.empty()) {
    settings.program_folder = folder.string();
    settings.install_folder = (folder / DLHOST_PLUGINS_FROM_BIN).lexically_normal().string();
  }
  return settings;
}

std::vector<SearchEntry> entries_of(const SearchSettings& settings) {
  std::vector<SearchEntry> entries;
  const auto add = [&entries](const std::string& path, std::string_view origin) {
    if (path.empty()) return;
    // Only paths of the command line are relative to the working folder.
    std::error_code error;
    const auto absolute = origin == "--plugin-dir" ? fs::absolute(path, error) : fs::path(path);
    const auto folder = absolute.lexically_normal().string();
    if (std::ranges::find(entries, folder, &SearchEntry::path) == entries.end())
      entries.push_back({folder, std::string(origin)});
  };
  for (const auto& folder : settings.plugin_dirs) add(folder, "--plugin-dir");
  std::string_view rest = settings.plugin_path;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    add(std::string(rest.substr(0, end)), "DLHOST_PLUGIN_PATH");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!settings.data_home.empty()) add(settings.data_home + "/dlhost/plugins", "the user's data home");
  add(settings.install_folder, "the install");
  return entries;
}

Catalogue search(std::span<const SearchEntry> entries, const HostTraits& host) {
  Catalogue catalogue;
  const Trusted trusted = trusted_by_process();
  for (const auto& where : entries) {
    const std::size_t index = catalogue.entries.size();
    auto& entry = catalogue.entries.emplace_back(Catalogue::Entry{.where = where});
    if (!fs::path(where.path).is_absolute()) {
      entry.problems.push_back("it depends on the working directory: write it as an absolute path");
      continue;
    }
    std::error_code error;
    entry.exists = fs::is_directory(where.path, error);
    if (!entry.exists) continue;
    entry.problems = permission_problems(where.path, trusted);
    if (!entry.problems.empty()) continue;
    std::vector<std::string> paths;
    for (fs::directory_iterator file(where.path, error), end; !error && file != end; file.increment(error))
      if (file->path().extension() == ".so") paths.push_back(file->path().string());
    if (error) entry.problems.push_back(Status::system(error.value(), "it cannot be listed").message());
    std::ranges::sort(paths);
    for (const auto& path : paths) catalogue.candidates.push_back(candidate_at(path, index, trusted, host));
  }
  return catalogue;
}

Candidate examine(const std::string& path, const HostTraits& host) {
  return candidate_at(path, 0, trusted_by_process(), host);
}

std::string joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const auto& reason : reasons) text += concat(text.empty() ? "" : "; ", reason);
  return text;
}

std::string looked_in(const Catalogue& catalogue, bool everywhere) {
  std::string looked;
  for (const auto& entry : catalogue.entries) {
    const bool refused = !entry.problems.empty();
    if (!everywhere && !entry.exists && !refused) continue;
    looked += concat(looked.empty() ? "" : ", ", entry.where.path, " (", entry.where.origin,
                     refused        ? concat("; not used: ", joined(entry.problems))
                     : entry.exists ? ""
                                    : "; does not exist",
                     ")");
  }
  return looked.empty() ? "no folder" : looked;
}

Status any_found(const Catalogue& catalogue) {
  if (!catalogue.candidates.empty()) return {};
  return Status::not_found("no plugins were found, and everything in a job is one; looked in ",
                           looked_in(catalogue, true),
                           ". Name their folder with --plugin-dir or DLHOST_PLUGIN_PATH, or install dlhost again; of "
                           "a build it is build/plugins, which ./dev exec and ./dev shell name");
}

} // namespace dlhost::plugin
