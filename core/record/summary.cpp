#include "record/summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "env/printable.h"
#include "env/process/failure_note.h"
#include "env/process/process.h"
#include "record/quantity.h"

namespace dlhost::record {

namespace {

constexpr const char* file_name = "summary.json";

using Json = nlohmann::ordered_json;

Json metrics_json(const std::vector<Metric>& metrics, const std::vector<Table>& tables = {}) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = value; // infinity and NaN become null
  for (const auto& table : tables) json[table.name] = table_json(table);
  return json;
}

struct Phase {
  const char* name;
  const std::vector<Metric>* metrics;
};

// A row for each phase of the run, a column for each metric.
std::string metrics_table(const Summary& summary) {
  std::vector<Phase> phases;
  for (const Phase& phase :
       {Phase{"train", &summary.train}, Phase{"validation", &summary.validation}, Phase{"test", &summary.test}})
    if (!phase.metrics->empty()) phases.push_back(phase);
  std::vector<std::string> names;
  for (const Phase& phase : phases)
    for (const auto& [name, value] : *phase.metrics)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  if (names.empty()) return "";
  constexpr int first = 12, narrowest = 10;
  std::string table = fmt::format("  {:<{}}", "", first);
  for (const auto& name : names) table += fmt::format("  {:>{}}", name, narrowest);
  for (const Phase& phase : phases) {
    table += fmt::format("\n  {:<{}}", phase.name, first);
    for (const auto& name : names) {
      const auto metric = std::ranges::find(*phase.metrics, name, &Metric::first);
      const std::string cell = metric == phase.metrics->end() ? "-" : short_number(metric->second);
      table += fmt::format("  {:>{}}", cell, std::max<int>(narrowest, static_cast<int>(width_of(name))));
    }
  }
  return table + "\n";
}

std::string row(std::string_view name, std::string_view value) { return fmt::format("  {:<14}{}\n", name, value); }

std::string smaller(std::string_view how, const Traffic& traffic) {
  if (traffic.dense == 0) return "";
  return row(how, fmt::format("{} of contributions as {}, {:.3g}%, by each worker", short_bytes(traffic.dense),
                              short_bytes(traffic.sent),
                              100.0 * static_cast<double>(traffic.sent) / static_cast<double>(traffic.dense)));
}

// Percentages of the total time of all workers' steps.
std::string shares(std::span<const WorkerReport> workers) {
  WorkerReport all;
  double computing = 0;
  for (const WorkerReport& one : workers) {
    computing += one.computing();
    for (const auto part : {&WorkerReport::seconds, &WorkerReport::input, &WorkerReport::params, &WorkerReport::serving,
                            &WorkerReport::waiting})
      all.*part += one.*part;
  }
  const auto share = [&](double part) { return all.seconds > 0 ? 100 * part / all.seconds : 0; };
  return fmt::format("{}: {:.0f}% computing, {:.0f}% params, {:.0f}% serving, {:.0f}% waiting, {:.0f}% input",
                     workers.size(), share(computing), share(all.params), share(all.serving), share(all.waiting),
                     share(all.input));
}

std::string network(std::span<const WorkerReport> workers) {
  Freight all, each_step;
  for (const WorkerReport& one : workers) {
    all += one.network;
    if (one.each_step) each_step += *one.each_step;
  }
  if (all.all() == 0) return "";
  std::string text =
      fmt::format("{} of params, {} of gradients, {} of state, {} of control between machines", short_bytes(all.params),
                  short_bytes(all.gradients), short_bytes(all.state), short_bytes(all.control));
  if (each_step.all() > 0)
    text += fmt::format("; each step as planned: {} and {}", short_bytes(each_step.params),
                        short_bytes(each_step.gradients));
  return row("network", text);
}

} // namespace

std::string summary_json(const Summary& summary) {
  Json json;
  json["status"] = summary.status;
  json["reason"] = summary.reason;
  json["steps"] = summary.steps;
  json["epochs"] = summary.epochs;
  json["seconds"] = summary.seconds;
  json["train"] = metrics_json(summary.train);
  json["validation"] = metrics_json(summary.validation, summary.validation_tables);
  json["test"] = metrics_json(summary.test, summary.test_tables);
  const auto& best = summary.best;
  json["best"] = best ? Json{{"metric", best->metric}, {"value", best->value}, {"step", best->step}} : Json();
  json["items_per_second"] = summary.items_per_second;
  json["step_seconds"] = {{"median", summary.step_median}, {"min", summary.step_least}};
  json["input_wait_seconds"] = summary.input_wait_seconds;
  json["workers"] = Json::array();
  for (const WorkerReport& worker : summary.workers) json["workers"].push_back(json_of(worker));
  json["contributions"] = {{"arrived", summary.contributions}, {"late", summary.late_contributions}};
  json["codec"] = {{"encoded_bytes", summary.encoded.sent}, {"dense_bytes", summary.encoded.dense}};
  json["factors"] = {{"sent_bytes", summary.factored.sent}, {"dense_bytes", summary.factored.dense}};
  const auto& scale = summary.loss_scale;
  json["loss_scale"] = scale ? Json{{"value", scale->value}, {"skipped_steps", scale->skipped_steps}} : Json();
  json["recoveries"] = summary.recoveries;
  json["replacements"] = Json::array();
  for (const Replacement& one : summary.replacements)
    json["replacements"].push_back({{"workers", one.workers},
                                    {"why", one.why},
                                    {"step", one.step},
                                    {"seconds", one.seconds},
                                    {"others_made_steps", one.others_made},
                                    {"others_stood_still_seconds", one.others_stood}});
  json["ledgers"] = summary.ledgers.run.empty() ? Json() : json_of(summary.ledgers);
  json["unsaved_checkpoints"] = summary.unsaved_checkpoints;
  json["peak_rss_bytes"] = summary.peak_rss_bytes;
  json["shared_bytes"] = summary.shared_bytes;
  json["started_rss_bytes"] = summary.started_rss_bytes;
  json["plan_hash"] = summary.plan_hash;
  json["job_hash"] = summary.job_hash;
  Json versions = Json::object();
  for (const auto& [name, version] : summary.versions) versions[name] = version;
  json["versions"] = std::move(versions);
  return env::json_text(json, 2) + "\n";
}

std::string summary_table(const Summary& summary, bool unicode) {
  constexpr int width = 72;
  std::string line;
  for (int i = 0; i < width; ++i) line += unicode ? "─" : "-";
  std::string text = fmt::format("{}\n{}: {}", line, summary.job_name, summary.status);
  if (!summary.reason.empty()) text += fmt::format(" ({})", summary.reason);
  text += '\n';
  if (!summary.remark.empty()) text += fmt::format("  {}\n", summary.remark);
  text += metrics_table(summary);
  // The test's tables; without a test, the validation's.
  for (const auto& table : summary.test_tables.empty() ? summary.validation_tables : summary.test_tables)
    text += table_text(table);
  if (const auto& best = summary.best) {
    text +=
        row("best", fmt::format("validation {} {} at step {}", best->metric, short_number(best->value), best->step));
    if (best->step != summary.steps)
      text += row("", "its params are tested, evaluated and exported (--last: the last)");
  }
  text += row("steps", fmt::format("{} in {:.4g} epochs", summary.steps, summary.epochs));
  const auto lasted = [](double seconds) { return short_duration(std::round(seconds * 1e3) / 1e3); };
  text += row("time", fmt::format("{}, {} items/s, {} waiting for input", short_duration(summary.seconds),
                                  short_rate(summary.items_per_second), lasted(summary.input_wait_seconds)));
  if (!summary.workers.empty()) text += row("workers", shares(summary.workers)) + network(summary.workers);
  if (summary.contributions > 0)
    text += row("too late", fmt::format("{} of {} contributions", summary.late_contributions, summary.contributions));
  text += smaller("encoded", summary.encoded) + smaller("as factors", summary.factored);
  if (const auto& scale = summary.loss_scale)
    text += row("loss scale", fmt::format("{:.0f}; {} step{} not made, whose gradients were not finite", scale->value,
                                          scale->skipped_steps, scale->skipped_steps == 1 ? "" : "s"));
  if (summary.recoveries > 0)
    text += row("recovered", fmt::format("{} time{} after a worker had died", summary.recoveries,
                                         summary.recoveries == 1 ? "" : "s"));
  if (!summary.replacements.empty()) {
    double stood = 0;
    for (const Replacement& one : summary.replacements) stood += one.others_stood;
    text += row("", fmt::format("{} while the others went on, which stood still for {:.2g} s because of it",
                                summary.replacements.size(), stood));
  }
  if (summary.unsaved_checkpoints > 0)
    text += row("not saved", fmt::format("{} checkpoint{}, for want of room on the disk", summary.unsaved_checkpoints,
                                         summary.unsaved_checkpoints == 1 ? "" : "s"));
  std::string memory = short_bytes(summary.peak_rss_bytes);
  if (summary.shared_bytes > 0) memory += fmt::format(", of which workers share {}", short_bytes(summary.shared_bytes));
  text += row("peak memory", memory);
  if (!summary.folder.empty()) text += row("run folder", summary.folder);
  std::size_t widest = 0;
  std::size_t longest = 0;
  for (const auto& step : summary.next) {
    widest = std::max(widest, width_of(step.first));
    longest = std::max(longest, width_of(step.second));
  }
  constexpr std::size_t beside = 65; // width of a row's text in a terminal of 80 columns
  for (const auto& [command, what] : summary.next) {
    const char* name = &command == &summary.next.front().first ? "next" : "";
    if (widest + 2 + longest <= beside)
      text += row(name, fmt::format("{:<{}}  {}", command, widest, what));
    else
      text += row(name, command) + row("", "  " + what);
  }
  return env::printable(text + line + "\n", env::longest_message); // names and paths are foreign text
}

Status write_summary(Disk& disk, const RunFolder& folder, const Summary& summary) {
  return disk.write_text(folder.file(file_name), summary_json(summary));
}

Status keep_summary(Disk& disk, const RunFolder& folder, const Summary& summary) {
  env::prepare_failure_note("", "", "");
  DLHOST_TRY(write_summary(disk, folder, summary));
  // Only a running or finished run may still end by a crash.
  if (summary.status != "running" && summary.status != "done") return {};
  constexpr std::string_view reason = "the reason";
  Summary failed = summary;
  failed.status = "failed";
  failed.reason = reason;
  const std::string text = summary_json(failed);
  const auto at = text.find(reason);
  env::prepare_failure_note(env::absolute_path(folder.file(file_name)), text.substr(0, at),
                            text.substr(at + reason.size()));
  return {};
}

std::string status_told(Disk& disk, const std::string& run) {
  const auto text = disk.read_text(concat(run, "/", file_name));
  const auto summary = env::json_or_discarded(text.ok() ? *text : "");
  return summary.is_object() ? summary.value("status", "running") : "running";
}

} // namespace dlhost::record
