#include "config/load.h"

#include "config/blocks.h"
#include "config/build.h"
#include "config/compose.h"
#include "config/crowd.h"
#include "config/overrides.h"
#include "config/renamed.h"

namespace dlhost::config {

namespace {

// `folder` is the start of relative paths for the layers of its own file; on the command line, for all layers.
void place_folders(const Table& document, Job& job) {
  const Value* given = document.find("folder");
  if (!given || job.folder.empty()) {
    job.folder = folder_of(job.path);
    return;
  }
  const std::string* file = given->where.line > 0 ? given->where.file.get() : nullptr;
  const std::string before = file ? folder_of(*file) : ".";
  job.folder = join_path(before, job.folder);
  for (auto& layer : job.layers)
    if (!layer.folder_given && (!file || (layer.where.file && *layer.where.file == *file))) layer.folder = job.folder;
}

} // namespace

std::optional<Job> load(Disk& disk, const std::string& path, std::span<const std::string> texts, SchemaSource& plugins,
                        Problems& problems) {
  Table document = compose(disk, path, problems);
  // An incompletely read file would only cause errors about its missing parts.
  if (!problems.empty()) return std::nullopt;
  std::vector<std::string> remarks;
  rename_old_keys(document, remarks);
  Overrides overrides(texts, problems, remarks);
  overrides.apply(document);
  rename_old_keys(document, remarks); // again, for tables that an override sets whole
  const Crowd crowd(document);
  Layers layers = expand_blocks(document, problems);
  overrides.apply(layers);
  rename_old_keys(layers, remarks);
  Job job = build(document, layers, plugins, problems);
  crowd.tell(problems);
  job.path = path;
  job.remarks = std::move(remarks);
  place_folders(document, job);
  return job;
}

Result<Job> load(Disk& disk, const std::string& path, std::span<const std::string> texts, SchemaSource& plugins) {
  Problems problems;
  auto job = load(disk, path, texts, plugins, problems);
  DLHOST_TRY(problems.status());
  return *std::move(job);
}

} // namespace dlhost::config
