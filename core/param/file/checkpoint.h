// A checkpoint: a folder with params.safetensors, history.safetensors and state.safetensors, and a manifest with their
// sizes and hashes. A rename makes the folder visible, so that it is whole or absent. A file that does not match the
// manifest is refused, with the reason.
//
// Params are plain f32 under their names ("fc1.weight"), histories under the param's and the slot's name
// ("fc1.weight/momentum"). State carried between training batches (recurrent state) stands beside the histories: only a
// run that goes on training needs either. Each worker with values of its own has a file (worker-0.safetensors), with
// values and histories under the same names and its codec state ("fc1.weight/codec.error").
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <nlohmann/json_fwd.hpp>

#include "param/file/safetensors.h"
#include "param/store/store.h"

namespace dlhost::param {

// The end of the name of a folder in which a checkpoint is being written. Until it is renamed, its content counts for
// nothing, even if it is complete.
inline constexpr std::string_view unfinished = ".unfinished";

// A tensor of a checkpoint and its memory.
struct TensorPlace {
  std::string name;
  TensorDesc desc;
  void* data = nullptr;
  bool needed = true; // false: it becomes zero if the checkpoint has no such tensor
};

// `about` goes into the manifest under "run": data position, versions and other things that core/run needs to go on.
Status write_checkpoint(Disk&, const std::string& folder, Store&, const Updater::Rule&, const nlohmann::json& about,
                        std::span<const std::vector<TensorPlace>> workers);

struct CheckpointFiles {
  std::string folder;
  std::unique_ptr<File> params, history, state;
  std::vector<std::unique_ptr<File>> workers;
  std::unique_ptr<nlohmann::json> manifest;
  bool averaged = false; // params are read as their averages: see use_averages()
  ~CheckpointFiles();
  CheckpointFiles();
  CheckpointFiles(CheckpointFiles&&) noexcept;
  CheckpointFiles& operator=(CheckpointFiles&&) noexcept;
};

// Reads the manifest and checks its seal. Does not check the other files.
Result<nlohmann::json> read_manifest(Disk&, const std::string& folder);
// Opens a checkpoint. Errors: a file is missing, or its size or hash is wrong.
Result<CheckpointFiles> open_checkpoint(Disk&, const std::string& folder);

// From here on params are read as the averages that the updater kept. Errors: it kept none.
Status use_averages(CheckpointFiles&);
// The params, or their averages after use_averages().
Result<Safetensors> values_of(const CheckpointFiles&);

// Loads the values into the store, and with `training` also the histories. Everything is checked before anything is
// changed. Errors: the store's net has other params or shapes.
Status read_checkpoint(const CheckpointFiles&, Store&, const Updater::Rule* training);
// Loads the workers' own values. False: the checkpoint is of another number of workers.
Result<bool> read_workers(const CheckpointFiles&, Store&, std::span<const std::vector<TensorPlace>> workers);

} // namespace dlhost::param
