#include "config/build.h"

#include <algorithm>

#include "config/build_layer.h"
#include "config/job_schema.h"
#include "config/names.h"
#include "config/read_scheme.h"

namespace dlhost::config {

namespace {

class Builder {
 public:
  Builder(SchemaSource& plugins, Problems& problems) : plugins_(plugins), problems_(problems) {}

  Job build(const Table& document) {
    Job job;
    head(document, job);
    train(table(document, "train"), job.train);
    job.validate.every.epochs = 1;
    evaluate(table(document, "validate"), "validate", job.validate);
    evaluate(table(document, "test"), "test", job.test);
    updater(table(document, "updater"), job.updater);
    topology(table(document, "topology"), job.topology);
    partition(table(document, "partition"), job.partition);
    const Table& checkpoint = table(document, "checkpoint");
    job.checkpoint.every.seconds = 300;
    parse(checkpoint_schema(), checkpoint, &job.checkpoint, "checkpoint", {"every"});
    cadence(checkpoint, "checkpoint", job.checkpoint.every);
    made_folder(checkpoint, "checkpoint", job.checkpoint.folder);
    const Table& recovery = table(document, "recovery");
    job.recovery.every.seconds = 20;
    parse(recovery_schema(), recovery, &job.recovery, "recovery", {"every"});
    cadence(recovery, "recovery", job.recovery.every);
    const Table& record = table(document, "record");
    job.record.every.steps = 20;
    parse(record_schema(), record, &job.record, "record", {"every"});
    cadence(record, "record", job.record.every);
    made_folder(record, "record", job.record.folder);
    job.places.emplace("", document.where);
    for (const auto& [key, value] : document.entries)
      if (key != "layer" && key != "block") note_places(job, key, value);
    return job;
  }

 private:
  static constexpr std::string_view others_[] = {"train",      "validate", "test",   "updater", "topology", "partition",
                                                 "checkpoint", "recovery", "record", "layer",   "block",    "include"};

  static void note_places(Job& job, const std::string& key, const Value& value) {
    job.places.emplace(key, value.where);
    if (const auto* table = std::get_if<Table>(&value.data))
      for (const auto& [inner, item] : table->entries) note_places(job, concat(key, ".", inner), item);
  }

  void head(const Table& document, Job& job) {
    Head head;
    problems_.of_schema(head_schema(), head_schema().parse(document, &head, &plugins_, others_), "", others_);
    // A run's folder is named after the job plus the time; file systems allow 255 bytes.
    constexpr std::size_t longest_name = 200;
    if (head.name.size() > longest_name)
      problems_.of_key("name", document.find("name")->where, "must be at most ", longest_name,
                       " bytes long, because run folders are named after it, but has ", head.name.size());
    job.name = head.name;
    job.seed = head.seed;
    job.folder = head.folder;
    job.data_from = head.data_from;
  }

  void parse(const Schema& schema, const Table& table, void* into, std::string_view path,
             std::initializer_list<std::string_view> also = {}) {
    const std::span<const std::string_view> others(also.begin(), also.size());
    problems_.of_schema(schema, schema.parse(table, into, &plugins_, others), path, others);
  }

  // The table with this name; empty if it is missing or not a table.
  const Table& table(const Table& parent, std::string_view name, std::string_view path = {}) {
    static const Table empty;
    const Value* value = parent.find(name);
    if (!value) return empty;
    if (const auto* found = std::get_if<Table>(&value->data)) return *found;
    problems_.of_key(concat(path, path.empty() ? "" : ".", name), value->where, "must be a table, but is ",
                     detail::written(*value));
    return empty;
  }

  void train(const Table& source, Train& train) {
    parse(train_schema(), source, &train, "train", {"stop", "init_from"});
    const Table& stop = table(source, "stop", "train");
    parse(stop_schema(), stop, &train.stop, "train.stop");
    if (stop.entries.empty()) train.stop.epochs = 10;
    start(source, train.start);
  }

  // Reads init_from; a bare text is the path.
  void start(const Table& source, Start& start) {
    const Value* value = source.find("init_from");
    if (const auto* from = value ? std::get_if<std::string>(&value->data) : nullptr) {
      start.from = *from;
      return;
    }
    const Table& given = table(source, "init_from", "train");
    StartKeys keys;
    parse(start_schema(), given, &keys, "train.init_from");
    start.from = keys.from;
    start.names = names_of(keys, "train.init_from", problems_);
    if (value && start.from.empty())
      problems_.of_key("train.init_from", value->where,
                       "path is missing: a run, a checkpoint, a safetensors or an npz file");
  }

  void cadence(const Table& source, const std::string& path, Cadence& cadence) {
    const Value* value = source.find("every");
    if (!value) return;
    cadence = {};
    if (const auto* given = std::get_if<Table>(&value->data))
      return parse(cadence_schema(), *given, &cadence, path + ".every");
    problems_.of_key(path + ".every", value->where,
                     "must be a table such as { epochs = 1 } or { steps = 500 }, but is ", detail::written(*value));
  }

  // A run makes this folder. A URL would become a folder with the scheme's name, on the disk of this machine.
  void made_folder(const Table& source, const std::string& path, const std::string& folder) {
    const auto end = folder.find("://");
    if (end == std::string::npos || folder.find('/') < end) return;
    const std::string rest = folder.substr(end + 3);
    problems_.of_key(path + ".folder", source.find("folder")->where, "\"", folder, "\" has the scheme \"",
                     folder.substr(0, end),
                     "\", and no scheme is known here: runs write to folders of the file system; ",
                     folder.starts_with("file://") ? concat("write \"", rest, "\"")
                                                   : "mount the storage and name the folder where it is mounted");
  }

  void evaluate(const Table& source, const std::string& path, Evaluate& evaluate) {
    parse(evaluate_schema(), source, &evaluate, path, {"every"});
    cadence(source, path, evaluate.every);
  }

  void updater(const Table& source, Updater& updater) {
    UpdaterKeys keys;
    keys.rate.options.entries.emplace_back("base", Value{0.01, {}});
    parse_with_plugin(Kind::updater, updater_schema(), source, &keys, "updater", updater.plugin);
    updater.rate = std::move(keys.rate);
    updater.clip_value = keys.clip_value;
    updater.clip_norm = keys.clip_norm;
    updater.average = keys.average;
  }

  // Parses a table with core's keys, `type` and the options of the plugin of that type.
  void parse_with_plugin(Kind kind, const Schema& core, const Table& source, void* keys, const std::string& path,
                         Part& plugin) {
    Table own, others;
    own.where = others.where = source.where;
    std::vector<std::string_view> also = {"type"};
    for (const auto& option : core.options()) also.push_back(option.name);
    for (const auto& entry : source.entries)
      if (entry.first != "type") (core.find(entry.first) ? own : others).entries.push_back(entry);
    problems_.of_schema(core, core.parse(own, keys, &plugins_), path);
    const Value* type = source.find("type");
    if (type) {
      const auto* name = std::get_if<std::string>(&type->data);
      if (!name)
        return problems_.of_key(path + ".type", type->where, "must be a text in quotes, but is ",
                                detail::written(*type));
      plugin.type = *name;
    }
    if (const Schema* schema = plugins_.find(kind, plugin.type))
      problems_.of_schema(*schema, schema->parse(others, nullptr, &plugins_, also), path, also);
    else
      problems_.of_key(path + ".type", type ? type->where : source.where, plugins_.why_not(kind, plugin.type));
    plugin.options = std::move(others);
  }

  void scheme(const Value& value, const std::string& path, Scheme& scheme) {
    for (const auto& problem : read_scheme(value, scheme))
      problems_.of_key(concat(path, problem.key.empty() ? "" : ".", problem.key), problem.where, problem.message);
  }

  void partition(const Table& source, Partition& partition) {
    PartitionKeys keys;
    parse(partition_schema(), source, &keys, "partition", {"default"});
    constexpr std::size_t most_patterns = 1000; // each is compared with each layer
    if (keys.layers.entries.size() > most_patterns)
      return problems_.of_key("partition.layers", source.find("layers")->where, "has ", keys.layers.entries.size(),
                              " patterns; at most ", most_patterns, " are allowed");
    if (const Value* value = source.find("default")) scheme(*value, "partition.default", partition.fallback);
    for (const auto& [pattern, value] : keys.layers.entries)
      scheme(value, concat("partition.layers.", detail::written_key(pattern)),
             partition.layers.emplace_back(pattern, Scheme()).second);
  }

  void topology(const Table& source, Topology& topology) {
    topology.where = source.where;
    parse(topology_schema(), source, &topology, "topology");
    const Value* workers = source.find("workers");
    if (topology.framework == Framework::none) {
      if (workers && !problems_.refused("topology.framework"))
        problems_.of_key("topology.workers", workers->where, "needs topology.framework");
      return;
    }
    if (topology.workers == 0) topology.workers = 2;
    const auto all = topology.workers;
    const bool groups = topology.framework == Framework::downpour || topology.framework == Framework::hogwild;
    const auto& word = std::get<std::string>(source.find("framework")->data);
    const auto count = [&](std::string_view key, std::int64_t& value, std::int64_t meant) {
      const Value* given = source.find(key);
      const std::string path = concat("topology.", key);
      if (given && value != meant && !problems_.refused("topology.workers") && !problems_.refused(path))
        problems_.of_key(path, given->where, "framework \"", word, "\" of ", all, " workers means ", meant,
                         ", but it is ", value, "; leave one of the two out");
      value = meant;
    };
    count("worker_groups", topology.worker_groups, groups ? all : 1);
    count("workers_per_group", topology.workers_per_group, groups ? 1 : all);
    count("server_groups", topology.server_groups, topology.framework == Framework::hogwild ? all : 1);
    count("servers_per_group", topology.servers_per_group, topology.framework == Framework::allreduce ? all : 1);
  }

  SchemaSource& plugins_;
  Problems& problems_;
};

} // namespace

Job build(const Table& document, const Layers& layers, SchemaSource& plugins, Problems& problems) {
  Job job = Builder(plugins, problems).build(document);
  job.layers = build_layers(layers, plugins, problems);
  if (!layers.whole) problems.refuse("layer"); // an expansion failed: some layers are missing
  if (problems.refused("layer")) return job;
  if (layers.list.empty()) {
    problems.add(document.where, "the job has no layers; it needs at least one [[layer]]");
    problems.refuse("layer");
  } else if (std::ranges::none_of(job.layers, [](const Layer& layer) { return layer.src.empty(); })) {
    problems.add(document.where, "the net has no source: add a [[layer]] that reads data, such as csv or idx");
  }
  return job;
}

const Layer* Job::layer(std::string_view wanted) const {
  const auto found = std::ranges::find(layers, wanted, &Layer::name);
  return found == layers.end() ? nullptr : &*found;
}

const Location& Job::place(std::string_view key) const {
  for (;; key = key.substr(0, key.find_last_of('.') == key.npos ? 0 : key.find_last_of('.')))
    if (const auto found = places.find(key); found != places.end() || key.empty()) {
      static const Location nowhere;
      return found == places.end() ? nowhere : found->second;
    }
}

const Param* Layer::param(std::string_view wanted) const {
  const auto found = std::ranges::find(params, wanted, &Param::name);
  return found == params.end() ? nullptr : &*found;
}

bool Layer::in(Phase phase) const { return phases.empty() || std::ranges::find(phases, phase) != phases.end(); }

} // namespace dlhost::config
