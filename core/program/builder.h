// Builds a program: prepares every layer, puts links where neighbours disagree, fuses what devices accept, follows the
// recorded visits to find every tensor's life, and lays them out.
//
// Gradients are found by following the record backward as data flows: each visit of a reader contributes a tensor to
// what it read; when the producer's turn comes its contributions are summed. Tensors of the step are written once, so
// a sum or an in-place layer reuses memory exactly where the old content is no longer read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugin/registry.h"
#include "program/program.h"
#include "program/record.h"

namespace dlhost::program {

struct BuildRequest {
  std::unique_ptr<net::Graph> graph;
  Record record;
  Device* device = nullptr;
  plugin::Registry* registry = nullptr; // where companions of layers are found
  std::string device_type;              // what they are named after
  Stream* stream = nullptr;
  param::Store* store = nullptr;
  plugin::Activity* activity = nullptr; // of the task that builds and runs it
  bool training = false;
  bool needs_loss = true;
  bool fuse = true;
  std::int64_t block_samples = 0; // sums over samples are made of such blocks; 0: as the device likes
  // Training only.
  const Updater* updater = nullptr;
  const plugin::Actor* updater_actor = nullptr;
  param::UpdateSettings update_settings;
  double clip_norm = 0;
  bool scales_loss = false;               // gradients are scaled, and may overflow
  param::SharedParams* sharing = nullptr; // whose the params are; null: they are its own
  param::DeviceSums* others = nullptr; // who have the same params of their own; null: this worker is the only one, or
                                       // shares them
  bool crosses_beside = false;         // what leaves the device for the others leaves beside the computing
  // "layer" or "layer:output", to be read after a step.
  std::vector<std::string> kept;
  // Asked when all is laid out and nothing is made: not ok, and no memory is.
  std::function<Status(const Program&)> admit;
  // Whether updates need to know of all gradients first.
  bool updates_at_the_end() const { return clip_norm > 0 || scales_loss; }
  bool make = true; // false: the program is only looked at, and its memory is never made
};

Result<std::unique_ptr<Program>> build(BuildRequest);

} // namespace dlhost::program
