// A job as all other parts of core see it: a TOML file after includes, overrides and blocks, with defaults filled in.
// load() (config/load.h) makes it and checks it against the schemas of its plugins. Afterwards it is read-only, for any
// task.
//
// Default: the members' initial values are the defaults of the options.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/dtype.h>
#include <dlhost/frame.h>
#include <dlhost/schema.h>

namespace dlhost::config {

// How often something is done; the first of several that is due counts. All zero: never by itself.
struct Cadence {
  std::int64_t steps = 0;
  double epochs = 0;
  double seconds = 0;
  bool never() const { return steps == 0 && epochs == 0 && seconds == 0; }
};

// When training ends: at the first of these. Default: after ten epochs.
struct Stop {
  std::int64_t steps = 0;                                    // 0: no limit
  double epochs = 0;                                         // 0: no limit
  double seconds = 0;                                        // 0: no limit
  double loss = -std::numeric_limits<double>::infinity();    // ends when the smoothed training loss is at most this
  double accuracy = std::numeric_limits<double>::infinity(); // ends when the validated accuracy is at least this
  std::int64_t patience = 0; // ends after so many evaluations without a better one; 0: never
};

enum class Last : std::uint8_t { drop, wrap, partial };

// The names of this net's params and running state in a foreign file. Names and patterns are this net's, except in
// `ignore`; "*" matches any part of a name (param/file/naming.h).
struct Rename {
  std::string ours, theirs;
  std::vector<std::int64_t> order; // axis i here is axis order[i] there; empty: same order
  Location where;
};
struct Names {
  std::vector<Rename> rename;
  std::vector<std::string> keep;   // params that keep their initial values
  std::vector<std::string> ignore; // the file's unwanted entries
};

// The source of first values, in place of initialisers.
struct Start {
  std::string from; // a run, checkpoint, safetensors or npz file; empty: initialisers
  Names names;
};

struct Train {
  Part algorithm{"bp", {}};
  std::int64_t batch = 64;
  Last last = Last::drop;
  Stop stop;
  Start start;
  DType dtype = DType::f32;
  std::int64_t threads = 0; // for each worker; 0: the machine's, divided among its workers
  Part device{"cpu", {}};
  bool reproducible = false;
  bool fuse = true;
  bool shuffle = true;
  std::int64_t readers = 1;  // tasks that read and augment samples
  std::int64_t prefetch = 2; // batches read ahead
  double hang_limit = 0;     // the longest call of a plugin in seconds; 0: chosen from the steps
};

// [validate] and [test].
struct Evaluate {
  Cadence every;
  bool at_end = true;
  std::int64_t batch = 0; // 0: the training batch
};

struct Updater {
  Part plugin{"sgd", {}}; // without the keys below
  Part rate;              // a Kind::schedule
  double clip_value = 0;  // 0: off
  double clip_norm = 0;   // 0: off
  double average = 0;     // weight of the old average in the new one; 0: no average
};

enum class RunAs : std::uint8_t { threads, processes };
// Whether workers send the factors of gradients that are products.
enum class Factors : std::uint8_t { automatic, on, off };
// The messages that the codec encodes: workers' contributions to servers, or exchanges between server groups.
enum class CodecOf : std::uint8_t { automatic, contributions, exchanges };
// The samples that worker groups train on.
enum class Data : std::uint8_t { shared, disjoint, bootstrap };
enum class Framework : std::uint8_t { none, sandblaster, allreduce, downpour, hogwild };

// How params and gradients travel between a device with its own memory and the servers' memory.
enum class Crossing : std::uint8_t {
  automatic,
  none,  // not at all: workers update params on the device, and several devices sum their gradients
  sync,  // computing waits for the copies
  async, // the copies run beside computing
};

struct Topology {
  Framework framework = Framework::none; // already translated into the counts below
  std::int64_t workers = 0;              // for the framework
  std::int64_t worker_groups = 1;
  std::int64_t workers_per_group = 1;
  std::int64_t server_groups = 1;
  std::int64_t servers_per_group = 1;
  std::int64_t machines = 1;           // machines that divide the workers, in their order
  std::int64_t replicas = 1;           // copies of the servers' values: 2 survive the loss of one
  std::int64_t slice_elements = 16384; // a param of at least so many elements gets a slice for each server
  Factors factors = Factors::automatic;
  std::int64_t warmup_steps = 0; // of the first group alone, before the others start
  bool testing_group = false;    // evaluates while the others train
  Data data = Data::disjoint;
  RunAs run_as = RunAs::threads;
  Part consistency{"strict", {}};
  Part device;                      // for params, if not the training device; type empty: that one, or cpu
  std::vector<std::int64_t> shares; // of a group's batch, by the worker's rank; empty: equal
  std::int64_t balance_steps = 0;   // steps until shares follow the workers' speeds; 0: never
  Crossing copy = Crossing::automatic;
  std::int64_t device_workers = 0;    // the first workers of each machine that use train.device; 0: all
  Part codec;                         // type empty: none
  std::int64_t codec_elements = 1024; // smaller params are sent uncoded
  CodecOf codec_of = CodecOf::automatic;
  Part sync;                        // type empty: none
  std::int64_t exchange_memory = 0; // bytes of a server's rows for exchanges of params; 0: as many as needed
  Part transport;                   // within a machine; type empty: shm
  Part network;                     // between machines; type empty: fabric
  bool encrypt = false;             // messages between machines
  bool encrypt_data = false;        // params and contributions as well
  Part rendezvous;                  // type empty: none, or the launcher's
  Location where;
};

struct Checkpoint {
  std::string folder; // empty: the folder checkpoints in the run's folder
  Cadence every;
  std::int64_t keep = 3;
  std::string best = "auto"; // the metric that chooses the best; "auto": accuracy, else the loss; "none"
  double wait = 3600;        // seconds that the last params wait for free space on a full disk
};

// How a layer is cut among the workers of a group: along a split that it declares, by the split's name, "batch" among
// them; "none": each worker computes all of it. Or along axes of its first output.
struct Scheme {
  std::string split;              // empty: by axes
  std::vector<std::int64_t> axes; // each is cut into as many parts as `grid` has there
  std::vector<std::int64_t> grid;
  Location where;
};

struct Partition {
  Scheme fallback{.split = "batch"};                  // for layers that name none and declare its split
  std::vector<std::pair<std::string, Scheme>> layers; // by pattern of names; the last that fits counts
};

// The reaction of a run to the death of one of its processes.
struct Recovery {
  Cadence every;             // how often it saves recovery points, beside checkpoints
  std::int64_t restarts = 5; // restarts in a row without progress; 0: the run ends
  double silence = 0;        // seconds without a sign of life in a step; 0: chosen from the steps
};

struct Record {
  std::string folder; // empty: the folder runs in the working folder
  Cadence every;
  bool tensorboard = true;
  bool ledger = true; // with several workers: the contributors to each version
  bool gradient_norm = false;
};

// A source of a layer: another layer's first or named output.
struct Source {
  std::string layer;
  std::string port; // a name or a number; empty: the first output
  Location where;
};

// The phase's key in a job: its table, and the option of a source that names its samples.
constexpr std::string_view key_of(Phase phase) {
  switch (phase) {
  case Phase::train: return "train";
  case Phase::validate: return "validate";
  case Phase::test: return "test";
  }
  return "";
}

// A job's settings for one param of a layer.
struct Param {
  std::string name; // "weight"
  Location where;
  std::optional<Part> init; // none: the layer's default
  std::optional<double> rate_scale, decay_scale;
  std::string share; // params with the same share name are one param
  bool frozen = false;
  std::optional<Part> consistency; // none: topology.consistency
};

struct Layer {
  std::string name;
  std::string type;
  Table options; // the plugin's options, without core's keys
  std::vector<Source> src;
  std::vector<Phase> phases; // empty: all
  std::vector<Param> params;
  std::vector<Part> augment; // for a source
  Location augment_at;
  bool frozen = false;
  std::optional<DType> dtype;         // none: train.dtype
  std::optional<Scheme> scheme;       // none: the job's partition
  std::vector<std::int64_t> location; // the workers of the group that compute it; empty: all
  std::string folder;                 // where its relative paths start
  bool folder_given = false;          // the layer itself names the folder
  Location where;
  Location used_at; // the use of the block that it comes from; line 0: none

  const Param* param(std::string_view name) const;
  bool in(Phase) const;
};

struct Job {
  std::string name;
  std::int64_t seed = 0;
  std::string path;                 // the job file
  std::string folder;               // where relative paths start
  std::string data_from;            // how users get the data of its sources
  std::vector<std::string> remarks; // warnings for the user: renamed keys
  Train train;
  Evaluate validate, test;
  Updater updater;
  Topology topology;
  Partition partition;
  Checkpoint checkpoint;
  Recovery recovery;
  Record record;
  std::vector<Layer> layers; // in the order of the file
  // The places of keys outside of layers and blocks: "train.stop.patience"; "" is the file.
  std::map<std::string, Location, std::less<>> places;

  const Layer* layer(std::string_view name) const;
  // The norm to which gradients are clipped; infinity: not clipped, but the norm is wanted; 0: the norm is not wanted.
  double largest_norm() const {
    return updater.clip_norm > 0 || !record.gradient_norm ? updater.clip_norm : std::numeric_limits<double>::infinity();
  }
  // The place of a key, or of the nearest given table around it.
  const Location& place(std::string_view key) const;
};

// Core's own tables, as `dlhost inspect` prints them.
struct CoreTable {
  std::string path; // "train.stop"; "" is the top of the file, "layer" a [[layer]], "layer.param" one of its params
  Schema schema;
};
const std::vector<CoreTable>& core_tables();

} // namespace dlhost::config
