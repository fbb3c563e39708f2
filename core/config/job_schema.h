// The schemas of core's own tables. Declared like a plugin's options, so that `dlhost inspect` and the errors about a
// job file have the same source.
#pragma once

#include "config/job.h"

namespace dlhost::config {

// The top of the file, without its tables.
struct Head {
  std::string name;
  std::int64_t seed = 0;
  std::string folder;
  std::string data_from;
};
const Schema& head_schema();

// [train] without the tables `stop` and `init_from`.
const Schema& train_schema();
const Schema& stop_schema();

struct StartKeys {
  std::string from;
  Table rename;
  std::vector<std::string> keep, ignore;
};
const Schema& start_schema();
// The same without the path: a file of names.
const Schema& names_schema();
const Schema& cadence_schema();
const Schema& evaluate_schema();
const Schema& topology_schema();
struct PartitionKeys {
  Table layers;
};
// [partition] without `default` and the schemes in `layers`; and a scheme that is a table.
const Schema& partition_schema();
const Schema& scheme_schema();
const Schema& checkpoint_schema();
const Schema& recovery_schema();
const Schema& record_schema();

// The keys of [updater] beside `type` and the plugin's options.
struct UpdaterKeys {
  Part rate{"fixed", {}};
  double clip_value = 0;
  double clip_norm = 0;
  double average = 0;
};
const Schema& updater_schema();

// The keys of a [[layer]] beside the plugin's options.
struct LayerKeys {
  std::string name;
  std::string type;
  std::vector<std::string> src;
  std::vector<std::string> phases;
  std::vector<Part> augment;
  bool frozen = false;
  DType dtype = DType::f32;
  std::vector<std::int64_t> location;
  std::string folder;
  Table param;
};
const Schema& layer_schema();

struct ParamKeys {
  Part init;
  double rate_scale = 1;
  double decay_scale = 1;
  std::string share;
  bool frozen = false;
  Part consistency;
};
const Schema& param_schema();

// The keys of a [[layer]] that uses a block, and of a [[block]] (config/blocks.h).
struct BlockUse {
  std::string name;
  std::string block;
  std::vector<std::string> src;
  std::int64_t repeat = 1;
  Table with;
};
const Schema& block_use_schema();
struct BlockKeys {
  std::string name;
  std::vector<std::string> params;
  Table defaults;
  std::string out;
};
const Schema& block_schema();

} // namespace dlhost::config
