// dlhost top: shows the progress of a run's workers and servers, live.
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/run_named.h"
#include "env/json_text.h"
#include "env/process/interrupt.h"
#include "env/terminal.h"
#include "record/quantity.h"
#include "record/summary.h"
#include "record/tail.h"
#include "record/workers_log.h"
#include "run/recovery/leadership.h"

namespace dlhost::cli {
namespace {

struct TopOptions {
  std::string run;
  bool once = false, json = false;
};

struct WorkerRow {
  run::RunProcess at;
  std::uint64_t steps = 0, behind = 0;                        // steps behind the furthest worker
  std::uint64_t stale = 0;                                    // versions
  double rate = 0;                                            // steps per second
  double computing = 0, params = 0, serving = 0, waiting = 0; // fractions of the time
  std::string awaits;
};

struct ServerRow {
  std::size_t worker = 0; // the worker beside the server
  std::uint64_t version = 0;
  double rate = 0; // versions per second
};

struct Rows {
  std::vector<WorkerRow> workers;
  std::vector<ServerRow> servers;
};

// The changes between the last two reports.
Rows rows_of(const std::vector<record::WorkersReport>& reports, const run::Leader& leader) {
  Rows rows;
  if (reports.empty()) return rows;
  const auto& now = reports.back();
  std::uint64_t furthest = 0;
  for (const auto& worker : now.workers) furthest = std::max(furthest, worker.at);
  const auto& before = reports.front();
  const double passed = now.seconds - before.seconds;
  const bool comparable = passed > 0 && before.workers.size() == now.workers.size() && before.step <= now.step;
  for (std::size_t seat = 0; seat < now.workers.size(); ++seat) {
    const auto& worker = now.workers[seat];
    WorkerRow row{.at = {leader.host, leader.process},
                  .steps = worker.at,
                  .behind = furthest - worker.at,
                  .stale = worker.stale,
                  .awaits = worker.awaits};
    if (seat > 0 && seat <= leader.workers.size()) row.at = leader.workers[seat - 1];
    if (comparable && worker.steps >= before.workers[seat].steps && worker.seconds >= before.workers[seat].seconds) {
      const auto& then = before.workers[seat];
      const auto part = [&](double since, double until) { return std::clamp((until - since) / passed, 0.0, 1.0); };
      row.rate = static_cast<double>(worker.steps - then.steps) / passed;
      row.computing = part(then.computing(), worker.computing());
      row.params = part(then.params, worker.params);
      row.serving = part(then.serving, worker.serving);
      row.waiting = part(then.waiting, worker.waiting);
    }
    rows.workers.push_back(std::move(row));
    if (!worker.made) continue;
    const auto then = comparable ? before.workers[seat].made.value_or(*worker.made) : *worker.made;
    rows.servers.push_back({.worker = seat,
                            .version = *worker.made,
                            .rate = then < *worker.made ? static_cast<double>(*worker.made - then) / passed : 0});
  }
  return rows;
}

std::string table(const std::string& run, const run::Leader& leader, const Rows& rows) {
  const auto& workers = rows.workers;
  std::string text = fmt::format("{}: {} worker{}, recovered {} time{}\n", run, workers.size(),
                                 workers.size() == 1 ? "" : "s", leader.past.times, leader.past.times == 1 ? "" : "s");
  std::size_t width = 4;
  for (const WorkerRow& row : workers) width = std::max(width, row.at.host.size());
  text += fmt::format("{:>6}  {:>{}}  {:>8}  {:>10}  {:>8}  {:>9}  {:>6}  {:>7}  {:>7}  {:>6}  {:>5}  {}\n", "worker",
                      "host", width, "process", "steps", "steps/s", "computing", "params", "serving", "waiting",
                      "behind", "stale", "waits for");
  for (std::size_t seat = 0; seat < workers.size(); ++seat) {
    const WorkerRow& row = workers[seat];
    text += fmt::format(
        "{:>6}  {:>{}}  {:>8}  {:>10}  {:>8.1f}  {:>8.0f}%  {:>5.0f}%  {:>6.0f}%  {:>6.0f}%  {:>6}  {:>5}  {}\n", seat,
        row.at.host, width, row.at.process, row.steps, row.rate, row.computing * 100, row.params * 100,
        row.serving * 100, row.waiting * 100, row.behind, row.stale, row.awaits);
  }
  text += fmt::format("{:>6}  {:>10}  {:>10}  {:>10}\n", "server", "of worker", "version", "versions/s");
  for (std::size_t server = 0; server < rows.servers.size(); ++server) {
    const ServerRow& row = rows.servers[server];
    text += fmt::format("{:>6}  {:>10}  {:>10}  {:>10.1f}\n", server, row.worker, row.version, row.rate);
  }
  return text;
}

std::string json(const run::Leader& leader, const Rows& rows) {
  nlohmann::ordered_json out{
      {"host", leader.host}, {"leader", leader.process}, {"recoveries", leader.past.times}, {"workers", nullptr}};
  out["workers"] = nlohmann::ordered_json::array();
  for (const WorkerRow& row : rows.workers)
    out["workers"].push_back({{"host", row.at.host},
                              {"process", row.at.process},
                              {"steps", row.steps},
                              {"steps_per_second", row.rate},
                              {"computing", row.computing},
                              {"params", row.params},
                              {"serving", row.serving},
                              {"waiting", row.waiting},
                              {"behind", row.behind},
                              {"stale", row.stale},
                              {"awaits", row.awaits}});
  out["servers"] = nlohmann::ordered_json::array();
  for (const ServerRow& row : rows.servers)
    out["servers"].push_back({{"worker", row.worker}, {"version", row.version}, {"versions_per_second", row.rate}});
  return env::json_text(out, 2) + "\n";
}

// The newest record, for a run of one worker.
std::string newest_record(Disk& disk, const std::string& run, const run::Leader& leader) {
  std::string text = fmt::format("{}: one worker, process {} of {}\n", run, leader.process, leader.host);
  for (const auto& line : record::last_lines(disk, run + "/metrics.jsonl")) {
    const auto record = env::json_or_discarded(line);
    if (!record.is_object() || record.value("phase", "") != "train") continue;
    std::string shown = fmt::format("step {}  epoch {:.2f}", record.value("step", 0), record.value("epoch", 0.0));
    const auto metrics = record.value("metrics", nlohmann::json::object());
    for (const auto& [name, value] : metrics.items())
      if (value.is_number()) shown += fmt::format("  {} {}", name, record::short_number(value.get<double>()));
    return text + shown + fmt::format("  {} items/s\n", record::short_rate(record.value("items_per_second", 0.0)));
  }
  return text + "no step was recorded yet\n";
}

// Such as "ended 12:03, done".
std::string ending_of(Disk& disk, const std::string& run) {
  struct stat file {};
  std::string at;
  if (::stat((run + "/summary.json").c_str(), &file) == 0) {
    tm local{};
    char text[16] = {};
    localtime_r(&file.st_mtime, &local);
    if (std::strftime(text, sizeof text, " %H:%M", &local) > 0) at = text;
  }
  const std::string status = record::status_told(disk, run);
  return status == "running" ? "it is not running, and did not record how it ended\n"
                             : fmt::format("ended{}, {}\n", at, status);
}

// Cuts lines at the terminal's width.
std::string cut(const std::string& text, int columns) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    shown += text.substr(at, std::min(end - at, static_cast<std::size_t>(columns))) + "\n";
    at = end + 1;
  }
  return shown;
}

Status top(Context& context, TopOptions options) {
  constexpr Nanoseconds pause = 1'000'000'000;
  constexpr const char* clear = "\x1b[H\x1b[J";
  Disk& disk = context.host.disk();
  DLHOST_ASSIGN(options.run, run_named(disk, options.run));
  if (!disk.exists(options.run))
    return Status::not_found("there is no run folder '", options.run, "'; `dlhost ps` lists the runs in progress");
  env::StandardTerminal terminal(1);
  const bool live = terminal.interactive() && !options.once && !options.json;
  std::optional<env::Keys> keys;
  if (live) keys.emplace();
  while (true) {
    DLHOST_ASSIGN(const bool led, run::Leadership::led(options.run));
    DLHOST_ASSIGN(const auto leader, run::Leadership::told(disk, options.run));
    const auto rows = rows_of(record::WorkersLog::newest(disk, options.run), leader);
    if (options.json) {
      terminal.write(json(leader, rows));
      return {};
    }
    std::string text =
        rows.workers.empty() ? newest_record(disk, options.run, leader) : table(options.run, leader, rows);
    if (!led) text += ending_of(disk, options.run);
    if (live) text = clear + cut(text + (led ? "press q to quit\n" : ""), terminal.columns());
    terminal.write(text);
    if (!led || options.once || env::interrupted()) return {};
    if (!live)
      context.host.clock().sleep(pause);
    else if (keys->next(pause) == 'q')
      return {};
  }
}

} // namespace

void add_top(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("top", "show where the workers and servers of a run are, live");
  auto options = std::make_shared<TopOptions>();
  add_run_named(*command, options->run);
  command->add_flag("--once", options->once, "show it once");
  command->add_flag("--json", options->json, "print it once as JSON, for programs");
  command->footer(
      "For each worker: its steps, its steps a second, and the parts of its time in which it computes, converts\n"
      "params and gradients, serves params to other workers, and waits for other workers; how many steps it is\n"
      "behind the furthest worker, and how many versions its server has made since the one that it computes with;\n"
      "and what it waits for now, and for which worker. For each server: the newest version of its first\n"
      "slice, and its versions a second.\n\n"
      "Example:\n"
      "  dlhost top runs/digits-...");
  command->callback([&context, options] {
    env::catch_interrupts();
    if (Status status = top(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
