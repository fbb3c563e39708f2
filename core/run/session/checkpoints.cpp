#include "run/session/checkpoints.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "plugin/faults.h"
#include "record/run_folder.h"
#include "run/input/inputs.h"
#include "run/session/manifest.h"

namespace dlhost::run {
namespace {

constexpr std::string_view prefix = "step-";
constexpr const char* best = "best";

std::string name_of(std::uint64_t step) { return fmt::format("{}{:09}", prefix, step); }

// Names of the complete checkpoints by step, newest first.
Result<std::vector<std::string>> steps_in(Disk& disk, const std::string& folder) {
  std::vector<std::string> names;
  DLHOST_ASSIGN(const auto entries, disk.list(folder));
  for (const auto& entry : entries)
    if (entry.directory && entry.name.starts_with(prefix) && !entry.name.ends_with(param::unfinished))
      names.push_back(entry.name);
  std::ranges::sort(names, std::greater<>{});
  return names;
}

// The weights whose gradient is one product. They are matrices, whatever shape the layer's input gives them; other
// programs read them as matrices.
nlohmann::json matrices_of(const program::Program& program) {
  nlohmann::json names = nlohmann::json::array();
  for (const auto& unit : program.units())
    for (const auto& factors : unit.described->setup.factors)
      if (!factors.of_rows) names.push_back(unit.described->params[factors.param].name);
  return names;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Result<param::CheckpointFiles> open(Disk& disk, const std::string& folder) {
  DLHOST_ASSIGN(auto files, param::open_checkpoint(disk, folder));
  DLHOST_TRY(check_manifest(files.manifest->at("run"), folder + "/manifest.json"));
  return files;
}

// The newest checkpoint that opens. `refused` gets the errors of newer ones.
Result<param::CheckpointFiles> newest_good(Disk& disk, std::span<const std::string> folders, std::string& refused) {
  std::vector<std::pair<std::string, std::string>> found; // name and folder
  for (const auto& folder : folders) {
    if (folders.size() > 1 && !disk.exists(folder)) continue;
    DLHOST_ASSIGN(const auto names, steps_in(disk, folder));
    for (const auto& name : names) found.emplace_back(name, folder);
  }
  // For equal steps the recovery point, in the later folder, comes first.
  std::ranges::reverse(found);
  std::ranges::stable_sort(found, std::greater<>{}, &std::pair<std::string, std::string>::first);
  for (const auto& [name, folder] : found) {
    auto files = open(disk, folder + "/" + name);
    if (files.ok()) return files;
    refused += (refused.empty() ? "" : "\n") + files.status().message();
  }
  return Status::not_found("no good checkpoint in '", folders.front(), "'", refused.empty() ? "" : ":\n", refused);
}

} // namespace

Status Checkpoints::write(const std::string& name, std::uint64_t step, const nlohmann::json& training) {
  const std::string path = folder_ + "/" + name;
  DLHOST_ASSIGN(const auto* program, session_.trainer());
  nlohmann::json about{{"step", step},
                       {"job", session_.job().name},
                       {"seed", session_.job().seed},
                       {"training", training},
                       {"plan", plan::to_json(program->plan())},
                       {"matrices", matrices_of(*program)},
                       {"inputs", inputs_json(session_)},
                       {"plugins", nlohmann::json::object()}};
  for (const auto& build : session_.registry().builds())
    about["plugins"][build.name] = build.version + "+" + build.digest;
  DLHOST_TRY(session_.host().disk().make_directory(folder_));
  std::vector<std::vector<param::TensorPlace>> workers;
  if (session_.sharing()) workers = session_.sharing()->own_values();
  DLHOST_TRY(
      param::write_checkpoint(session_.host().disk(), path, session_.store(), session_.updater().rule(), about, workers)
          .at("checkpoint '", path, "'"));
  return {};
}

void Checkpoints::tell(const std::string& name) const {
  plugin::tell_checkpoint(plugin::immortal(folder_ + "/" + name));
}

std::vector<std::string> Checkpoints::differences(const param::CheckpointFiles& files, Session& session) {
  const auto& about = files.manifest->at("run");
  const auto program = session.trainer();
  if (!about.is_object() || !about.contains("plan") || !program.ok()) return {"the checkpoint has no plan"};
  auto found = plan::differences(about["plan"], (*program)->plan());
  const auto known = about.value("plugins", nlohmann::json::object());
  for (const auto& build : session.registry().builds()) {
    const std::string is = build.version + "+" + build.digest;
    if (known.contains(build.name) && known[build.name] != is)
      found.push_back(fmt::format("plugin '{}' was {} and is {}", build.name, env::json_text(known[build.name]), is));
  }
  return found;
}

std::uint64_t Checkpoints::step_of(const param::CheckpointFiles& files) { return files.manifest->at("run").at("step"); }

Status Checkpoints::save(std::uint64_t step, const nlohmann::json& training) {
  DLHOST_TRY(lend(step, training));
  tell(name_of(step));
  return {};
}

Status Checkpoints::lend(std::uint64_t step, const nlohmann::json& training) {
  DLHOST_TRY(write(name_of(step), step, training));
  DLHOST_ASSIGN(const auto names, steps_in(session_.host().disk(), folder_));
  for (std::size_t i = keep_; i < names.size(); ++i)
    DLHOST_TRY(session_.host().disk().remove(folder_ + "/" + names[i]));
  return {};
}

Status Checkpoints::save_best(std::uint64_t step, const nlohmann::json& training) {
  DLHOST_TRY(write(best, step, training));
  tell(best);
  return {};
}

Status Checkpoints::take_best(const std::string& checkpoint) {
  Disk& disk = session_.host().disk();
  DLHOST_TRY(disk.make_directory(folder_));
  return disk.rename(checkpoint, fmt::format("{}/{}", folder_, best));
}

Result<param::CheckpointFiles> Checkpoints::open_best() const {
  return open(session_.host().disk(), concat(folder_, "/", best));
}

std::string Checkpoints::path_of(std::uint64_t step) const { return folder_ + "/" + name_of(step); }

Result<param::CheckpointFiles> Checkpoints::newest(Host& host, std::span<const std::string> folders,
                                                   std::string& refused) {
  auto newest = newest_good(host.disk(), folders, refused);
  if (newest.ok() && !refused.empty())
    host.log().write(LogLevel::warning, concat(refused, "\n", newest->folder, " is taken in its place"));
  return newest;
}

std::vector<std::string> Checkpoints::folders_of(const std::string& run) {
  return {run + "/checkpoints", run + "/recovery"};
}

bool Checkpoints::any(Disk& disk, const std::string& folder) {
  const auto names = steps_in(disk, folder);
  return names.ok() && !names->empty();
}

Result<param::CheckpointFiles> Checkpoints::find(Host& host, const std::string& what) {
  Disk& disk = host.disk();
  if (!disk.exists(what))
    return Status::not_found("there is no '", what, "'; name a run's folder or a checkpoint in it");
  std::string refused;
  const auto folders = folders_of(what);
  if (std::ranges::any_of(folders, [&](const auto& folder) { return any(disk, folder); }))
    return newest(host, folders, refused);
  if (!record::RunFolder::job_in(disk, what).empty())
    return Status::not_found("the run '", what, "' has no checkpoint");
  auto files = open(disk, what);
  if (files.ok()) return files;
  if (any(disk, what)) return newest(host, {&what, 1}, refused);
  const std::string parent = parent_of(what);
  auto other = newest_good(disk, {&parent, 1}, refused);
  if (!other.ok()) return files;
  return Status::corrupt(files.status().message(), "; the newest good one is ", other->folder);
}

Result<param::CheckpointFiles> Checkpoints::find_best(Host& host, const std::string& what) {
  for (const char* kept : {"/checkpoints/", "/"}) {
    const std::string folder = concat(what, kept, best);
    if (!host.disk().exists(folder)) continue;
    auto files = open(host.disk(), folder);
    if (files.ok()) return files;
    host.log().write(LogLevel::warning, concat(files.status().message(), "; the newest is taken in its place"));
  }
  return find(host, what);
}

Result<param::TensorFile> start_tensors(Host& host, const std::string& path) {
  Disk& disk = host.disk();
  if (!disk.exists(path))
    return Status::not_found("there is no '", path,
                             "' to start from; name a run, a checkpoint, a safetensors or an npz "
                             "file");
  if (!disk.list(path).ok()) return param::open_tensors(disk, path);
  DLHOST_ASSIGN(auto checkpoint, Checkpoints::find(host, path));
  return param::tensors_of(std::move(checkpoint));
}

} // namespace dlhost::run
