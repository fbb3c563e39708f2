// Builds a program: prepares every layer, puts links between neighbours with different formats, fuses ops that devices
// can fuse, follows the recorded visits to find every tensor's life, and lays the tensors out.
//
// Gradients follow the record: each gradient visit of a reader contributes a tensor to the features that it read, and
// the producer's visit sums its contributions. Each tensor of a step is written once, so a sum or an in-place layer
// reuses memory exactly when the old content has no more readers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "param/store/update.h"
#include "param/table/device_sums.h"
#include "param/table/shared_params.h"
#include "plugin/registry.h"
#include "program/program.h"
#include "program/record.h"

namespace dlhost::program {

struct BuildRequest {
  std::unique_ptr<net::Graph> graph;
  Record record;
  Device* device = nullptr;
  plugin::Registry* registry = nullptr; // finds the companions of layers
  std::string device_type;              // the part of their names after '@'
  Stream* stream = nullptr;
  param::Store* store = nullptr;
  plugin::Activity* activity = nullptr; // of the task that builds and runs the program
  bool training = false;
  bool needs_loss = true;
  bool fuse = true;
  std::int64_t block_samples = 0; // sums over samples are made of blocks of this size; 0: the device chooses
  // Training only.
  const Updater* updater = nullptr;
  const plugin::Actor* updater_actor = nullptr;
  param::UpdateSettings update_settings;
  double clip_norm = 0;
  bool scales_loss = false; // scales gradients, which may then overflow
  // Params are shared with other workers through servers; null: the program updates them.
  const param::SharedLayout* shared = nullptr;
  param::SharedParams* sharing = nullptr; // the same, in a program that is made
  param::DeviceSums* others =
      nullptr;                 // workers with their own copies of the params; null: none, or the params are shared
  bool crosses_beside = false; // contributions leave the device beside the computing
  // "layer" or "layer:output": outputs to read after a step.
  std::vector<std::string> kept;
  // Called after layout and before any memory is made. An error stops the build.
  std::function<Status(const Program&)> admit;
  // Whether updates wait for all gradients.
  bool updates_at_the_end() const { return clip_norm > 0 || scales_loss; }
  bool make = true; // false: for inspection only, makes no memory
};

Result<std::unique_ptr<Program>> build(BuildRequest);

} // namespace dlhost::program
