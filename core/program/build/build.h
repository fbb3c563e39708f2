// Builds a program of a net for a device, in passes. Each pass has its own input and output:
//
//   UnitBuilder     layers prepare their ops; links convert between neighbours, epilogues are fused: units
//   Expansion       the recorded visits become steps and calls; gradients are summed
//   update_groups   updates that are made together, or at the end of the step
//   Layout          the places of tensors in memory
//   Program::open   memory and pointers
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "param/store/update.h"
#include "param/table/device_sums.h"
#include "param/table/shared_params.h"
#include "plan/partition.h"
#include "plugin/registry.h"
#include "program/box_exchange.h"
#include "program/program.h"
#include "program/record.h"

namespace dlhost::program {

// What one worker of a group computes, and what goes between it and the others.
struct GroupPart {
  std::vector<net::NodePart> nodes; // of the whole net: net::whole_parts
  std::vector<plan::Connector> connectors = {};
  std::map<std::string, param::ParamParts> params = {}; // those that not all workers hold whole
  std::uint32_t rank = 0;
  BoxExchange* boxes = nullptr; // the other workers; null: there are no connectors, or the program is not made
};

struct BuildRequest {
  std::unique_ptr<net::Graph> graph;
  GroupPart part;
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
