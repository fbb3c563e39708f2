#include "param/file/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/digest.h"
#include "env/json_text.h"
#include "param/file/plain.h"
#include "param/store/averaging.h"
#include "param/store/transfer.h"

namespace dlhost::param {
namespace {

constexpr int manifest_format = 3;
constexpr std::uint64_t longest_manifest = std::uint64_t{256} << 20;
constexpr std::size_t seal_letters = 64;
// What a manifest begins with: its seal, which is of every other byte.
constexpr std::string_view before_seal = "{\n  \"blake2b\": \"";

constexpr const char* file_names[] = {"params.safetensors", "history.safetensors", "state.safetensors"};

std::string worker_file(std::size_t worker) { return fmt::format("worker-{}.safetensors", worker); }

// The text of a manifest, in which the seal is still empty, with it.
std::string sealed(std::string text) {
  const std::string seal = env::digest(std::as_bytes(std::span(text)));
  return text.insert(before_seal.size(), seal);
}

bool is_sealed(const std::string& text) {
  if (!text.starts_with(before_seal) || text.size() < before_seal.size() + seal_letters) return false;
  std::string bare = text;
  return sealed(bare.erase(before_seal.size(), seal_letters)) == text;
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
  manifest["blake2b"] = ""; // the first key, as they are sorted
  return disk.write_text(folder + "/manifest.json", sealed(env::json_text(manifest, 2) + "\n"));
}

// Lists the three files, and of workers as many as it says, one after the other; nothing else.
Status check_files(const nlohmann::json& files, const std::string& path) {
  if (!files.is_object()) return Status::corrupt(path, ": its list of files is none");
  for (const char* name : file_names)
    if (!files.contains(name)) return Status::corrupt(path, ": does not list ", name);
  std::size_t known = std::size(file_names);
  for (std::size_t worker = 0; files.contains(worker_file(worker)); ++worker) ++known;
  if (files.size() != known) return Status::corrupt(path, ": lists a file that no checkpoint has");
  for (const auto& [name, entry] : files.items())
    if (!entry.is_object() || entry.size() != 2 || !entry.contains("bytes") || !entry["bytes"].is_number_unsigned() ||
        !entry.contains("blake2b") || !entry["blake2b"].is_string())
      return Status::corrupt(path, ": does not say the size and the hash of ", name);
  return {};
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

Result<nlohmann::json> read_manifest(Disk& disk, const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  if (!disk.exists(path))
    return Status::corrupt("'", folder,
                           "' is not a checkpoint: it has no manifest.json, or was not written to its end");
  DLHOST_ASSIGN(const auto text, disk.read_text(path, longest_manifest));
  auto manifest = env::json_or_discarded(text);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest.contains("run"))
    return Status::corrupt(path, ": is torn or no manifest of dlhost");
  if (!manifest.contains("format") || manifest["format"] != manifest_format)
    return Status::unsupported(path, ": is of another version of dlhost; this one reads format ", manifest_format);
  if (!is_sealed(text)) return Status::corrupt(path, ": its hash is not its own: damaged or tampered with");
  DLHOST_TRY(check_files(manifest["files"], path));
  return manifest;
}

Result<CheckpointFiles> open_checkpoint(Disk& disk, const std::string& folder) {
  CheckpointFiles files;
  files.folder = folder;
  DLHOST_ASSIGN(auto read, read_manifest(disk, folder));
  files.manifest = std::make_unique<nlohmann::json>(std::move(read));
  const auto& manifest = *files.manifest;
  const auto open = [&](const std::string& file_name) -> Result<std::unique_ptr<File>> {
    const std::string name = folder + "/" + file_name;
    const nlohmann::json& entry = manifest["files"][file_name];
    const auto size = entry["bytes"].get<std::uint64_t>();
    DLHOST_ASSIGN(auto file, disk.open(name));
    const auto bytes = file->map();
    if (bytes.size() != size)
      return Status::corrupt(name, ": has ", bytes.size(), " bytes, but the manifest says ", size,
                             ": truncated or replaced");
    if (env::digest(bytes) != entry["blake2b"].get_ref<const std::string&>())
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

Status use_averages(CheckpointFiles& files) {
  files.averaged = true;
  return values_of(files).status();
}

// What is not trained has no average.
Result<Safetensors> values_of(const CheckpointFiles& files) {
  DLHOST_ASSIGN(auto values, parse_safetensors(files.params->map(), files.folder + "/params.safetensors"));
  if (!files.averaged) return values;
  DLHOST_ASSIGN(const auto history, parse_safetensors(files.history->map(), files.folder + "/history.safetensors"));
  bool any = false;
  for (NamedTensor& value : values.tensors)
    if (const NamedTensor* average = history.find(concat(value.name, "/", Averaging::slot))) {
      value.bytes = average->bytes;
      any = true;
    }
  if (!any)
    return Status::not_found("'", files.folder,
                             "' has no averaged params: the job that trained it says no updater.average");
  return values;
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
  DLHOST_ASSIGN(const auto param_file, values_of(files));
  DLHOST_ASSIGN(const auto history_file,
                parse_safetensors(files.history->map(), files.folder + "/history.safetensors"));
  DLHOST_ASSIGN(const auto state_file, parse_safetensors(files.state->map(), files.folder + "/state.safetensors"));
  DLHOST_TRY(match(param_file, params, files.folder));
  DLHOST_TRY(match(state_file, state, files.folder));
  if (training)
    DLHOST_TRY(match(history_file, history, files.folder,
                     "was written under another updater; go on under that one, or begin a run with its params "
                     "(train.init_from)"));
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
