#include "config/dump.h"

#include <algorithm>
#include <cmath>

#include "config/compose.h"

namespace dlhost::config {

namespace {

std::string_view word(Last last) {
  switch (last) {
  case Last::drop: return "drop";
  case Last::wrap: return "wrap";
  case Last::partial: return "partial";
  }
  return "";
}

std::string_view word(Data data) {
  switch (data) {
  case Data::shared: return "shared";
  case Data::disjoint: return "disjoint";
  case Data::bootstrap: return "bootstrap";
  }
  return "";
}
std::string_view word(Factors factors) {
  switch (factors) {
  case Factors::on: return "on";
  case Factors::off: return "off";
  default: return "auto";
  }
}
std::string_view word(Crossing copy) {
  if (copy == Crossing::none) return "none";
  return copy == Crossing::sync ? "sync" : copy == Crossing::async ? "async" : "auto";
}
std::string_view word(CodecOf of) {
  switch (of) {
  case CodecOf::contributions: return "contributions";
  case CodecOf::exchanges: return "exchanges";
  default: return "auto";
  }
}
std::string_view word(RunAs run_as) { return run_as == RunAs::threads ? "threads" : "processes"; }

class Writer {
 public:
  // `canonical`: sorted options, without keys that do not affect training.
  Writer(bool canonical, std::string here) : canonical_(canonical), here_(std::move(here)) {}

  std::string write(const Job& job) {
    if (!canonical_) {
      line("name", job.name);
      line("folder", join_path(here_, job.folder));
      if (!job.data_from.empty()) line("get_data", job.data_from);
    }
    line("seed", job.seed);
    train(job.train);
    evaluate("validate", job.validate);
    evaluate("test", job.test);
    updater(job.updater);
    topology(job.topology);
    partition(job.partition);
    if (!canonical_) outputs(job);
    for (const auto& each : job.layers) layer(each, job);
    return std::move(text_);
  }

 private:
  template <class T> void line(std::string_view key, const T& value) {
    text_ += concat(key, " = ", detail::written(value), "\n");
  }
  void line(std::string_view key, std::string_view value) { line(key, std::string(value)); }
  void line(std::string_view key, const Part& part) {
    if (!part.type.empty()) text_ += concat(key, " = ", detail::written(Part{part.type, sorted(part.options)}), "\n");
  }
  void line(std::string_view key, const Cadence& every) {
    text_ += concat(key, " = { steps = ", every.steps, ", epochs = ", detail::written(every.epochs),
                    ", seconds = ", detail::written(every.seconds), " }\n");
  }
  void open(std::string_view header) { text_ += concat(text_.empty() ? "" : "\n", header, "\n"); }

  Table sorted(Table table) const {
    if (!canonical_) return table;
    std::ranges::sort(table.entries, {}, [](const auto& entry) { return entry.first; });
    for (auto& [key, value] : table.entries) sort_inside(value);
    return table;
  }
  void sort_inside(Value& value) const {
    if (auto* table = std::get_if<Table>(&value.data)) *table = sorted(std::move(*table));
    if (auto* list = std::get_if<List>(&value.data))
      for (auto& item : *list) sort_inside(item);
  }
  void options(const Table& table) {
    for (const auto& [key, value] : sorted(table).entries) line(detail::written_key(key), value);
  }

  void train(const Train& train) {
    open("[train]");
    line("algorithm", train.algorithm);
    line("batch", train.batch);
    line("last_batch", word(train.last));
    line("dtype", name_of(train.dtype));
    line("threads", train.threads);
    line("device", train.device);
    line("reproducible", train.reproducible);
    line("fuse", train.fuse);
    line("shuffle", train.shuffle);
    line("readers", train.readers);
    line("prefetch", train.prefetch);
    line("hang_limit", train.hang_limit);
    open("[train.stop]");
    line("steps", train.stop.steps);
    line("epochs", train.stop.epochs);
    line("seconds", train.stop.seconds);
    if (std::isfinite(train.stop.loss)) line("loss", train.stop.loss);
    if (std::isfinite(train.stop.accuracy)) line("accuracy", train.stop.accuracy);
    line("patience", train.stop.patience);
    start(train.start);
  }

  void start(const Start& start) {
    if (start.from.empty()) return;
    open("[train.init_from]");
    line("path", start.from);
    line("except", start.names.keep);
    line("unused", start.names.ignore);
    if (!start.names.rename.empty()) open("[train.init_from.rename]");
    for (const auto& rename : start.names.rename) {
      const std::string key = detail::written_key(rename.ours);
      if (rename.order.empty())
        line(key, rename.theirs);
      else
        text_ += concat(key, " = { name = ", detail::written(rename.theirs),
                        ", order = ", detail::written(rename.order), " }\n");
    }
  }

  void evaluate(std::string_view phase, const Evaluate& evaluate) {
    open(concat("[", phase, "]"));
    line("every", evaluate.every);
    line("at_end", evaluate.at_end);
    line("batch", evaluate.batch);
  }

  void updater(const Updater& updater) {
    open("[updater]");
    line("type", updater.plugin.type);
    options(updater.plugin.options);
    line("rate", updater.rate);
    line("clip_value", updater.clip_value);
    line("clip_norm", updater.clip_norm);
    if (updater.average > 0) line("average", updater.average);
  }

  static std::string written(const Scheme& scheme) {
    if (!scheme.split.empty()) return detail::written(scheme.split);
    return concat("{ axes = ", detail::written(scheme.axes), ", grid = ", detail::written(scheme.grid), " }");
  }

  void partition(const Partition& partition) {
    const Scheme usual = Partition().fallback;
    const bool is_usual = partition.fallback.split == usual.split;
    if (is_usual && partition.layers.empty()) return;
    open("[partition]");
    if (!is_usual) text_ += concat("default = ", written(partition.fallback), "\n");
    if (partition.layers.empty()) return;
    open("[partition.layers]");
    for (const auto& [pattern, scheme] : partition.layers)
      text_ += concat(detail::written_key(pattern), " = ", written(scheme), "\n");
  }

  void topology(const Topology& topology) {
    open("[topology]");
    line("worker_groups", topology.worker_groups);
    line("workers_per_group", topology.workers_per_group);
    line("server_groups", topology.server_groups);
    line("servers_per_group", topology.servers_per_group);
    if (topology.machines > 1) line("machines", topology.machines);
    if (topology.replicas > 1) line("replicas", topology.replicas);
    line("slice_elements", topology.slice_elements);
    if (topology.factors != Factors::automatic) line("gradient_factors", word(topology.factors));
    if (topology.warmup_steps > 0) line("warmup_steps", topology.warmup_steps);
    if (topology.testing_group) line("testing_group", topology.testing_group);
    line("group_data", word(topology.data));
    line("run_as", word(topology.run_as));
    // Left out at the default: one worker needs no handler.
    if (topology.consistency.type != Topology().consistency.type || !topology.consistency.options.entries.empty())
      line("consistency", topology.consistency);
    line("device", topology.device);
    if (topology.copy != Crossing::automatic) line("device_copies", word(topology.copy));
    if (!topology.shares.empty()) line("batch_shares", topology.shares);
    if (topology.balance_steps > 0) line("balance_steps", topology.balance_steps);
    if (topology.device_workers > 0) line("workers_on_device", topology.device_workers);
    line("codec", topology.codec);
    if (!topology.codec.type.empty()) line("codec_elements", topology.codec_elements);
    if (topology.codec_of != CodecOf::automatic) line("codec_for", word(topology.codec_of));
    line("sync", topology.sync);
    if (topology.exchange_memory > 0) line("exchange_memory", topology.exchange_memory);
    line("transport", topology.transport);
    line("network", topology.network);
    if (topology.encrypt) line("encrypt", true);
    if (topology.encrypt_data) line("encrypt_data", true);
    line("rendezvous", topology.rendezvous);
  }

  void outputs(const Job& job) {
    open("[checkpoint]");
    line("folder", job.checkpoint.folder);
    line("every", job.checkpoint.every);
    line("keep", job.checkpoint.keep);
    line("best_by", job.checkpoint.best);
    open("[recovery]");
    line("every", job.recovery.every);
    line("restarts", job.recovery.restarts);
    line("timeout", job.recovery.silence);
    open("[record]");
    line("folder", job.record.folder);
    line("every", job.record.every);
    line("tensorboard", job.record.tensorboard);
    if (job.record.gradient_norm) line("gradient_norm", true);
    line("ledger", job.record.ledger);
  }

  void layer(const Layer& layer, const Job& job) {
    open("[[layer]]");
    line("name", layer.name);
    line("type", layer.type);
    std::vector<std::string> words;
    for (const auto& source : layer.src)
      words.push_back(source.port.empty() ? source.layer : concat(source.layer, ":", source.port));
    if (!words.empty()) line("src", words);
    options(layer.options);
    words.clear();
    for (const Phase phase : layer.phases) words.emplace_back(key_of(phase));
    if (!words.empty()) line("phases", words);
    augment(layer.augment);
    if (layer.frozen) line("frozen", layer.frozen);
    if (layer.dtype) line("dtype", name_of(*layer.dtype));
    if (layer.scheme) text_ += concat("partition = ", written(*layer.scheme), "\n");
    if (!layer.location.empty()) line("location", layer.location);
    if (!canonical_ && layer.folder != job.folder) line("folder", join_path(here_, layer.folder));
    for (const auto& each : layer.params) param(each);
  }

  void augment(std::vector<Part> parts) {
    for (auto& part : parts) part.options = sorted(std::move(part.options));
    if (!parts.empty()) line("augment", parts);
  }

  void param(const Param& param) {
    const std::string key = concat("param.", detail::written_key(param.name), ".");
    if (param.init) line(key + "init", *param.init);
    if (param.rate_scale) line(key + "rate_scale", *param.rate_scale);
    if (param.decay_scale) line(key + "decay_scale", *param.decay_scale);
    if (!param.share.empty()) line(key + "share", param.share);
    if (param.frozen) line(key + "frozen", param.frozen);
    if (param.consistency) line(key + "consistency", *param.consistency);
  }

  bool canonical_;
  std::string here_;
  std::string text_;
};

} // namespace

std::string to_toml(const Job& job, const std::string& here) { return Writer(false, here).write(job); }

std::string job_hash(const Job& job) {
  // FNV-1a of 64 bits (Fowler, Noll, Vo): stable; needs no resistance to attacks.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : Writer(true, "").write(job)) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3;
  }
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, hash >>= 4) *digit = "0123456789abcdef"[hash & 15];
  return text;
}

} // namespace dlhost::config
