// A job as every other part of core sees it: what one TOML file says, after includes, overrides and blocks, with the
// defaults filled in. load() (config/load.h) makes it, checked against the schemas of the plugins that it names; from
// then on it is read-only data, for any task.
//
// Members that stand for options carry the defaults: a fresh Job is what a job file gets that says nothing.
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

// How often something is done; all zero: never by itself. Several may be given: whichever comes first.
struct Cadence {
  std::int64_t steps = 0;
  double epochs = 0;
  double seconds = 0;
  bool never() const { return steps == 0 && epochs == 0 && seconds == 0; }
};

// When training ends; whichever comes first. Nothing given: after ten epochs.
struct Stop {
  std::int64_t steps = 0;                                    // 0: no limit
  double epochs = 0;                                         // 0: no limit
  double seconds = 0;                                        // 0: no limit
  double loss = -std::numeric_limits<double>::infinity();    // the training loss, smoothed, is at most this
  double accuracy = std::numeric_limits<double>::infinity(); // the validated accuracy is at least this
  std::int64_t patience = 0;                                 // so many evaluations without a better one; 0: any number
};

enum class Last : std::uint8_t { drop, wrap, partial };

// How params and running state of this net are called in a file from elsewhere. Names and patterns are the net's, but
// those of `ignore`; "*" stands for any part of a name (param/file/naming.h).
struct Rename {
  std::string ours, theirs;
  std::vector<std::int64_t> order; // axis i here is axis order[i] there; empty: as they are
  Location where;
};
struct Names {
  std::vector<Rename> rename;
  std::vector<std::string> keep;   // not taken from the file
  std::vector<std::string> ignore; // the file's that are not wanted
};

// Where first values come from, in place of initialisers.
struct Start {
  std::string from; // a run, a checkpoint, a safetensors or npz file; empty: from initialisers
  Names names;
};

struct Train {
  Part algorithm{"bp", {}};
  std::int64_t batch = 64;
  Last last = Last::drop;
  Stop stop;
  Start start;
  DType dtype = DType::f32;
  std::int64_t threads = 0; // of each worker; 0: the machine's, shared among its workers
  Part device{"cpu", {}};
  bool reproducible = false;
  bool fuse = true;
  bool shuffle = true;
  std::int64_t readers = 1;  // tasks that read and augment samples
  std::int64_t prefetch = 2; // batches that are read ahead
  double hang_limit = 0;     // seconds that one call of a plugin may take; 0: chosen from the steps
};

// [validate] and [test].
struct Evaluate {
  Cadence every;
  bool at_end = true;
  std::int64_t batch = 0; // 0: as in training
};

struct Updater {
  Part plugin{"sgd", {}}; // without the keys below
  Part rate;              // a Kind::schedule
  double clip_value = 0;  // 0: not
  double clip_norm = 0;   // 0: not
  double average = 0;     // share of the old average of the values in the new one; 0: no average is kept
};

enum class RunAs : std::uint8_t { threads, processes };
// Whether workers leave the factors of gradients that are products, where they could.
enum class Factors : std::uint8_t { automatic, on, off };
// What goes through the codec: what workers send to servers, or what server groups send one another.
enum class CodecOf : std::uint8_t { automatic, contributions, exchanges };
// Which samples the worker groups train on.
enum class Data : std::uint8_t { shared, disjoint, bootstrap };
enum class Framework : std::uint8_t { none, sandblaster, allreduce, downpour, hogwild };

// How params and gradients cross between a device of its own memory and the servers'.
enum class Crossing : std::uint8_t {
  automatic,
  none,  // they do not: workers update params where they compute, and the devices of several sum their gradients
  sync,  // computing waits for it
  async, // beside the computing
};

struct Topology {
  Framework framework = Framework::none; // already turned into the counts
  std::int64_t workers = 0;              // of the framework
  std::int64_t worker_groups = 1;
  std::int64_t workers_per_group = 1;
  std::int64_t server_groups = 1;
  std::int64_t servers_per_group = 1;
  std::int64_t machines = 1;           // that share out the workers, in their order
  std::int64_t replicas = 1;           // of what servers have made: 2 outlive the death of one
  std::int64_t slice_elements = 16384; // params of so many and more are cut into a slice for each server
  Factors factors = Factors::automatic;
  std::int64_t warmup_steps = 0; // of the first group, before the others begin
  bool testing_group = false;    // evaluates while the others train
  Data data = Data::disjoint;
  RunAs run_as = RunAs::threads;
  Part consistency{"strict", {}};
  Part device;                      // of params, where not the one that trains; type empty: it, or cpu
  std::vector<std::int64_t> shares; // of a group's batch, by the worker's rank; empty: all have the same
  std::int64_t balance_steps = 0;   // after which shares are what workers' speeds are; 0: they stay
  Crossing copy = Crossing::automatic;
  std::int64_t device_workers = 0;    // of each machine that compute on train.device, the first; 0: all
  Part codec;                         // type empty: none
  std::int64_t codec_elements = 1024; // params of fewer are sent as they are
  CodecOf codec_of = CodecOf::automatic;
  Part sync;                 // type empty: none
  Part transport;            // within a machine; type empty: shm
  Part network;              // between machines; type empty: fabric
  bool encrypt = false;      // messages between machines
  bool encrypt_data = false; // and params and contributions
  Part rendezvous;           // type empty: none, or the launcher's
  Location where;
};

struct Checkpoint {
  std::string folder; // empty: checkpoints in the run's folder
  Cadence every;
  std::int64_t keep = 3;
  std::string best = "auto"; // the metric that chooses the best; "auto": accuracy, else the loss; "none"
  double wait = 3600;        // seconds that the last params wait for room on a full disk
};

// What a run does when one of its processes dies.
struct Recovery {
  Cadence every;             // how often it writes down where to go on, beside checkpoints
  std::int64_t restarts = 5; // so many in a row that get no further; 0: the run ends
  double silence = 0;        // seconds that a process may show no life in a step; 0: chosen from the steps
};

struct Record {
  std::string folder; // empty: runs beside where dlhost is called
  Cadence every;
  bool tensorboard = true;
  bool ledger = true; // of several workers: who contributed to which version
  bool gradient_norm = false;
};

// One source of a layer: the feature of another, or a named output of it.
struct Source {
  std::string layer;
  std::string port; // a name or a number; empty: the first
  Location where;
};

// What a job calls it: its table, and the option of a source that names its samples.
constexpr std::string_view key_of(Phase phase) {
  switch (phase) {
  case Phase::train: return "train";
  case Phase::validate: return "validate";
  case Phase::test: return "test";
  }
  return "";
}

// What a job says about one param of a layer.
struct Param {
  std::string name; // "weight"
  Location where;
  std::optional<Part> init; // none: the layer's own
  std::optional<double> rate_scale, decay_scale;
  std::string share; // params with one such name are one param
  bool frozen = false;
  std::optional<Part> consistency; // none: topology.consistency
};

struct Layer {
  std::string name;
  std::string type;
  Table options; // of its plugin: core's own keys are taken out
  std::vector<Source> src;
  std::vector<Phase> phases; // empty: all
  std::vector<Param> params;
  std::vector<Part> augment; // of a source
  Location augment_at;
  bool frozen = false;
  std::optional<DType> dtype; // none: train.dtype
  std::string folder;         // where its relative paths start
  bool folder_given = false;  // by the layer itself
  Location where;
  Location used_at; // the use of the block that it comes from; line 0: from none

  const Param* param(std::string_view name) const;
  bool in(Phase) const;
};

struct Job {
  std::string name;
  std::int64_t seed = 0;
  std::string path;                 // the job file
  std::string folder;               // where relative paths start
  std::string data_from;            // how people get what its sources read
  std::vector<std::string> remarks; // warnings for the user: keys that have another name now
  Train train;
  Evaluate validate, test;
  Updater updater;
  Topology topology;
  Checkpoint checkpoint;
  Recovery recovery;
  Record record;
  std::vector<Layer> layers; // in the order of the file
  // Where keys outside of layers and blocks were given: "train.stop.patience"; "" is the file.
  std::map<std::string, Location, std::less<>> places;

  const Layer* layer(std::string_view name) const;
  // That gradients are clipped to, where their norm is wanted: infinity where nothing clips; 0: it is not wanted.
  double largest_norm() const {
    return updater.clip_norm > 0 || !record.gradient_norm ? updater.clip_norm : std::numeric_limits<double>::infinity();
  }
  // Of a key, or of the nearest table around it that was given.
  const Location& place(std::string_view key) const;
};

// The tables that core owns, as `dlhost inspect` prints them.
struct CoreTable {
  std::string path; // "train.stop"; "" is the top of the file, "layer" one [[layer]], "layer.param" one param of it
  Schema schema;
};
const std::vector<CoreTable>& core_tables();

} // namespace dlhost::config
