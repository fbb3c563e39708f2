// A checkpoint: a folder with params.safetensors, history.safetensors and state.safetensors, and a manifest that says
// what they hold, with a hash of each. The folder appears whole, by a rename, or not at all; what does not match its
// manifest is refused with the reason.
//
// Params are plain f32 under their names ("fc1.weight"), histories under the param's and the slot's
// ("fc1.weight/momentum"). What batches of training hand on (recurrent state) stands beside the histories: only who
// goes on training wants either. Workers that have values of their own, which nobody else has, have a file each
// (worker-0.safetensors), with values and histories under the same names; what a codec keeps of a param for its worker
// stands there as well ("fc1.weight/codec.error").
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlhost/host.h>
#include <nlohmann/json_fwd.hpp>

#include "param/file/safetensors.h"
#include "param/store/store.h"

namespace dlhost::param {

// Where a tensor lies that a checkpoint holds.
struct TensorPlace {
  std::string name;
  TensorDesc desc;
  void* data = nullptr;
  bool needed = true; // not so: where a checkpoint has none like it, it is zero
};

// `about` goes into the manifest under "run": where the data stood, versions, whatever run needs again.
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

// What a checkpoint's manifest says, sealed as it was written; the files beside it are not looked at.
Result<nlohmann::json> read_manifest(Disk&, const std::string& folder);
// Opens and checks: every file there, of the right size and hash.
Result<CheckpointFiles> open_checkpoint(Disk&, const std::string& folder);

// From here on, its params are the averages that the updater kept. Not ok: it kept none.
Status use_averages(CheckpointFiles&);
// The params, as they are to be read.
Result<Safetensors> values_of(const CheckpointFiles&);

// Puts the values into the store, whose net must have the same params in the same shapes; with `training`, also
// histories. Everything is checked before anything is changed.
Status read_checkpoint(const CheckpointFiles&, Store&, const Updater::Rule* training);
// What workers have of their own. Not so: it is not of as many workers.
Result<bool> read_workers(const CheckpointFiles&, Store&, std::span<const std::vector<TensorPlace>> workers);

} // namespace dlhost::param
