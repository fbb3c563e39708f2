#include "param/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/digest.h"
#include "param/plain.h"
#include "param/transfer.h"

namespace dlhost::param {
namespace {

constexpr int manifest_format = 2;
constexpr const char* file_names[] = {"params.safetensors", "history.safetensors", "state.safetensors"};

std::string worker_file(std::size_t worker) { return fmt::format("worker-{}.safetensors", worker); }

// Of everything else in a manifest.
std::string seal_of(nlohmann::json manifest) {
  manifest.erase("blake2b");
  const std::string text = manifest.dump();
  return env::digest(std::as_bytes(std::span(text)));
}

// Host copies of device tensors, kept until their file is written.
class Collection {
 public:
  Status add(const Store::Home& home, std::string name, const TensorDesc& desc, const void* data) {
    DLHOST_ASSIGN(auto values, download(home.device, home.stream, desc, data));
    values_.push_back(std::move(values));
    tensors_.push_back({.name = std::move(name),
                        .dtype = DType::f32,
                        .shape = std::vector<std::int64_t>(desc.shape.begin(), desc.shape.end()),
                        .bytes = std::as_bytes(std::span(values_.back()))});
    return {};
  }
  std::span<const NamedTensor> tensors() const { return tensors_; }

 private:
  std::vector<std::vector<float>> values_;
  std::vector<NamedTensor> tensors_;
};

bool fits(const NamedTensor& tensor, const TensorPlace& target) {
  return tensor.dtype == DType::f32 && std::ranges::equal(tensor.shape, target.desc.shape);
}

constexpr std::string_view other_net = "is of another net";

Status match(const Safetensors& file, std::span<const TensorPlace> targets, const std::string& what,
             std::string_view why = other_net) {
  std::string problems;
  const auto problem = [&](const std::string& text) { problems += concat(problems.empty() ? "" : "; ", text); };
  std::vector<std::string> names;
  for (const auto& tensor : file.tensors) names.push_back(tensor.name);
  for (const auto& target : targets) {
    const NamedTensor* tensor = file.find(target.name);
    if (!tensor)
      problem(fmt::format("'{}' is not in it", target.name));
    else if (!fits(*tensor, target))
      problem(fmt::format("'{}' is {} there and {} here", target.name, shape_text(tensor->shape),
                          to_string(target.desc.shape)));
  }
  for (const auto& name : names)
    if (std::ranges::find(targets, name, &TensorPlace::name) == targets.end())
      problem(fmt::format("'{}' is not here", name));
  if (problems.empty()) return {};
  return Status::invalid(what, ": ", why, ": ", problems);
}

Status fill(const Safetensors& file, std::span<const TensorPlace> targets, const Store::Home& home) {
  for (const auto& target : targets) {
    const auto bytes = file.find(target.name)->bytes;
    const std::span values(reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float));
    DLHOST_TRY(upload(home.device, home.stream, values, target.desc, target.data));
  }
  return {};
}

// Writes one file of a checkpoint; its size and hash, for the manifest, are those of what lies on the disk.
Result<nlohmann::json> write_file(Disk& disk, const std::string& path, const Collection& collection) {
  DLHOST_TRY(write_safetensors(disk, path, collection.tensors()));
  DLHOST_ASSIGN(const auto file, disk.open(path));
  const auto bytes = file->map();
  if (bytes.size() != file->size()) return Status::io("'", path, "' cannot be mapped, to make sure of what lies there");
  return nlohmann::json{{"bytes", bytes.size()}, {"blake2b", env::digest(bytes)}};
}

Status collect_params(Store& store, Collection& into) {
  for (const auto& param : store.params())
    DLHOST_TRY(into.add(store.masters(), param->declared.name, param->master, param->value.data()));
  return {};
}

Status collect_history(Store& store, const Updater::Rule& rule, Collection& into) {
  for (const auto& param : store.params())
    for (std::size_t h = 0; h < param->history.size(); ++h)
      DLHOST_TRY(into.add(store.masters(), param->declared.name + "/" + rule.history[h].name, param->master,
                          param->history[h].data()));
  for (const auto& each : store.carried())
    DLHOST_TRY(into.add(store.computing(), each->name, each->desc, each->memory.data()));
  return {};
}

Status collect_state(Store& store, Collection& into) {
  for (const auto& each : store.states())
    DLHOST_TRY(into.add(store.computing(), each->name, each->desc, each->memory.data()));
  return {};
}

// One file after the other, so that no more than one is held on the host.
Status write_files(Disk& disk, const std::string& folder, Store& store, const Updater::Rule& rule,
                   const nlohmann::json& about, std::span<const std::vector<TensorPlace>> workers) {
  DLHOST_TRY(disk.make_directory(folder));
  nlohmann::json manifest{{"format", manifest_format}, {"run", about}, {"files", nlohmann::json::object()}};
  for (const std::string name : file_names) {
    Collection collection;
    DLHOST_TRY(name == file_names[0]   ? collect_params(store, collection)
               : name == file_names[1] ? collect_history(store, rule, collection)
                                       : collect_state(store, collection));
    DLHOST_ASSIGN(manifest["files"][name], write_file(disk, folder + "/" + name, collection));
  }
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    const std::string name = worker_file(worker);
    Collection collection;
    for (const auto& own : workers[worker]) DLHOST_TRY(collection.add(store.masters(), own.name, own.desc, own.data));
    DLHOST_ASSIGN(manifest["files"][name], write_file(disk, folder + "/" + name, collection));
  }
  manifest["blake2b"] = seal_of(manifest);
  return disk.write_text(folder + "/manifest.json", manifest.dump(2) + "\n");
}

Result<CheckpointFiles> open_manifest(Disk& disk, const std::string& folder) {
  CheckpointFiles files;
  files.folder = folder;
  const std::string path = folder + "/manifest.json";
  if (!disk.exists(path))
    return Status::corrupt("checkpoint '", folder, "' has no manifest.json: it is no checkpoint, or an unfinished one");
  DLHOST_ASSIGN(const auto text, disk.read_text(path));
  files.manifest = std::make_unique<nlohmann::json>(nlohmann::json::parse(text, nullptr, false));
  const auto& manifest = *files.manifest;
  if (!manifest.is_object() || !manifest.contains("files") || !manifest.contains("run"))
    return Status::corrupt(path, ": is torn or no manifest of dlhost");
  if (!manifest.contains("format") || manifest["format"] != manifest_format)
    return Status::unsupported(path, ": is of another version of dlhost; this one reads format ", manifest_format);
  if (!manifest.contains("blake2b") || manifest["blake2b"] != seal_of(manifest))
    return Status::corrupt(path, ": its hash is not its own: damaged or tampered with");
  const auto open = [&](const std::string& file_name) -> Result<std::unique_ptr<File>> {
    const std::string name = folder + "/" + file_name;
    const auto entry = manifest["files"].value(file_name, nlohmann::json());
    if (!entry.is_object()) return Status::corrupt(path, ": does not list ", file_name);
    DLHOST_ASSIGN(auto file, disk.open(name));
    const auto bytes = file->map();
    if (bytes.size() != entry.value("bytes", std::uint64_t{0}))
      return Status::corrupt(name, ": has ", bytes.size(), " bytes, but the manifest says ",
                             entry.value("bytes", std::uint64_t{0}), ": truncated or replaced");
    if (env::digest(bytes) != entry.value("blake2b", std::string()))
      return Status::corrupt(name, ": its hash is not the manifest's: damaged or tampered with");
    return file;
  };
  DLHOST_ASSIGN(files.params, open(file_names[0]));
  DLHOST_ASSIGN(files.history, open(file_names[1]));
  DLHOST_ASSIGN(files.state, open(file_names[2]));
  while (manifest["files"].contains(worker_file(files.workers.size()))) {
    DLHOST_ASSIGN(auto file, open(worker_file(files.workers.size())));
    files.workers.push_back(std::move(file));
  }
  return files;
}

} // namespace

CheckpointFiles::CheckpointFiles() = default;
CheckpointFiles::~CheckpointFiles() = default;
CheckpointFiles::CheckpointFiles(CheckpointFiles&&) noexcept = default;
CheckpointFiles& CheckpointFiles::operator=(CheckpointFiles&&) noexcept = default;

Status write_checkpoint(Disk& disk, const std::string& folder, Store& store, const Updater::Rule& rule,
                        const nlohmann::json& about, std::span<const std::vector<TensorPlace>> workers) {
  const std::string unfinished = folder + ".unfinished";
  if (disk.exists(unfinished)) DLHOST_TRY(disk.remove(unfinished));
  Status status = write_files(disk, unfinished, store, rule, about, workers);
  if (status.ok()) return disk.rename(unfinished, folder);
  disk.remove(unfinished).ignore("what went wrong before is the news; the next checkpoint tries again");
  return status;
}

Result<CheckpointFiles> open_checkpoint(Disk& disk, const std::string& folder) {
  try {
    return open_manifest(disk, folder);
  } catch (const nlohmann::json::exception& error) { // what its seal is good for all the same
    return Status::corrupt(folder, "/manifest.json: is no manifest of dlhost: ", error.what());
  }
}

Status read_checkpoint(const CheckpointFiles& files, Store& store, const Updater::Rule* training) {
  std::vector<TensorPlace> params, history, state;
  for (auto& param : store.params()) {
    const std::string& name = param->declared.name;
    params.push_back({name, param->master, param->value.data()});
    for (std::size_t h = 0; training && h < param->history.size(); ++h)
      history.push_back({name + "/" + training->history[h].name, param->master, param->history[h].data()});
  }
  for (auto& each : store.carried()) history.push_back({each->name, each->desc, each->memory.data()});
  for (auto& each : store.states()) state.push_back({each->name, each->desc, each->memory.data()});
  DLHOST_ASSIGN(const auto param_file, parse_safetensors(files.params->map(), files.folder + "/params.safetensors"));
  DLHOST_ASSIGN(const auto history_file,
                parse_safetensors(files.history->map(), files.folder + "/history.safetensors"));
  DLHOST_ASSIGN(const auto state_file, parse_safetensors(files.state->map(), files.folder + "/state.safetensors"));
  DLHOST_TRY(match(param_file, params, files.folder));
  DLHOST_TRY(match(state_file, state, files.folder));
  if (training)
    DLHOST_TRY(match(history_file, history, files.folder,
                     "was written under another updater; go on under that one, or begin a run with its params "
                     "(train.start.from)"));
  DLHOST_TRY(fill(param_file, params, store.masters()));
  DLHOST_TRY(fill(state_file, state, store.computing()));
  if (training) DLHOST_TRY(fill(history_file, history, store.masters()));
  for (auto& param : store.params()) {
    ++param->version;
    for (auto& copy : param->copies) DLHOST_TRY(store.refresh(*param, *copy));
  }
  return store.wait();
}

Result<bool> read_workers(const CheckpointFiles& files, Store& store,
                          std::span<const std::vector<TensorPlace>> workers) {
  if (files.workers.size() != workers.size()) return false;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    const std::string path = files.folder + "/" + worker_file(worker);
    DLHOST_ASSIGN(auto file, parse_safetensors(files.workers[worker]->map(), path));
    std::vector<TensorPlace> here;
    for (const TensorPlace& place : workers[worker]) {
      const NamedTensor* tensor = file.find(place.name);
      if (place.needed || (tensor && fits(*tensor, place)))
        here.push_back(place);
      else
        std::memset(place.data, 0, store.device().bytes(place.desc));
    }
    const auto is_wanted = [&](const NamedTensor& tensor) {
      return std::ranges::find(here, tensor.name, &TensorPlace::name) != here.end();
    };
    std::erase_if(file.tensors, std::not_fn(is_wanted)); // of another codec, or of none
    DLHOST_TRY(match(file, here, path));
    DLHOST_TRY(fill(file, here, store.masters()));
  }
  DLHOST_TRY(store.stream().wait());
  return true;
}

} // namespace dlhost::param
