#include "cli/unlabelled.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include "env/process/process.h"

namespace dlhost::cli {

namespace {

constexpr std::string_view option_name = "unlabelled"; // of a source

std::string whole_path(const std::string& path) {
  return path.starts_with('/') ? path : concat(env::working_folder(), "/", path);
}

} // namespace

Result<Unlabelled> Unlabelled::open(Context& context, const std::vector<std::string>& data) {
  Unlabelled opened;
  for (const auto& path : data) {
    if (path != "-") {
      opened.paths_.push_back(whole_path(path));
      continue;
    }
    if (opened.folder_) return Status::invalid("--data names standard input twice");
    opened.come_.assign(std::istreambuf_iterator<char>(std::cin), {});
    if (opened.come_.empty()) return Status::invalid("--data -: standard input is empty");
    DLHOST_ASSIGN(opened.folder_, env::TemporaryFolder::make("dlhost-data-"));
    opened.paths_.push_back(opened.folder_->path() + "/standard-input");
    DLHOST_TRY(context.host.disk().write_text(opened.paths_.back(), opened.come_));
  }
  return opened;
}

// The paths in standard input, a line each, and the others.
std::vector<std::string> Unlabelled::listed() const {
  std::vector<std::string> paths;
  for (const auto& path : paths_) {
    if (!folder_ || !path.starts_with(folder_->path())) {
      paths.push_back(path);
      continue;
    }
    for (std::string_view left = come_; !left.empty();) {
      const auto line = left.substr(0, left.find('\n'));
      left.remove_prefix(std::min(left.size(), line.size() + 1));
      if (!line.empty()) paths.push_back(whole_path(std::string(line)));
    }
  }
  return paths;
}

Result<std::vector<std::string>> Unlabelled::overrides(plugin::Registry& registry, const config::Job& job) const {
  if (paths_.empty()) return std::vector<std::string>();
  const config::Layer* source = nullptr;
  const Option* option = nullptr;
  for (const auto& layer : job.layers) {
    const Schema* schema = registry.find(Kind::layer, layer.type);
    const Option* found = schema ? schema->find(option_name) : nullptr;
    if (!found || !layer.in(Phase::test)) continue;
    if (source)
      return Status::invalid("--data does not say of which source: '", source->name, "' and '", layer.name,
                             "' can both read samples without labels; say it with --set layer.NAME.unlabelled=...");
    source = &layer;
    option = found;
  }
  if (!source)
    return Status::unsupported("no source of this job reads samples without labels (csv, idx, npy and images do); name "
                               "labelled ones with --set layer.NAME.test=...");
  const std::string key = concat("layer.", source->name, ".", option_name, "=");
  if (option->type == OptionType::texts) return std::vector{key + detail::written(listed())};
  if (paths_.size() > 1)
    return Status::invalid("--data names ", paths_.size(), " files, but '", source->name, "', a '", source->type,
                           "' source, reads one");
  return std::vector{key + detail::written(paths_[0])};
}

} // namespace dlhost::cli
