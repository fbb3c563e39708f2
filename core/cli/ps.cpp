// dlhost ps: the runs of this machine that go on.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "env/json_text.h"
#include "env/process/holders.h"
#include "record/curves.h"
#include "run/recovery/leadership.h"

namespace dlhost::cli {
namespace {

struct PsOptions {
  std::vector<std::string> folders;
  bool json = false;
};

struct Running {
  std::string folder;
  run::Leader leader;
  std::uint64_t step = 0;
};

// Those of this machine, led by processes that may be looked at.
std::vector<Running> led_here(Disk& disk) {
  std::vector<Running> runs;
  for (const auto& holder : env::holders_of(run::Leadership::file_name)) {
    const std::string folder = std::filesystem::path(holder.path).parent_path().string();
    std::error_code error;
    if (!std::filesystem::is_regular_file(holder.path, error)) continue; // what it is may block who reads it
    const auto leader = run::Leadership::told(disk, folder);
    if (!leader.ok() || leader->process != holder.process) continue; // another's file of that name
    runs.push_back({folder, *leader, record::last_step(disk, folder)});
  }
  return runs;
}

// Those that lie there and are led by somebody, wherever that is.
Status add_those_in(Disk& disk, const std::string& folder, std::vector<Running>& runs) {
  DLHOST_ASSIGN(const auto entries, disk.list(folder));
  for (const auto& entry : entries) {
    std::error_code error;
    const std::string run = std::filesystem::canonical(folder + "/" + entry.name, error).string();
    if (error || std::ranges::find(runs, run, &Running::folder) != runs.end()) continue;
    if (!std::filesystem::is_regular_file(run + "/" + run::Leadership::file_name, error)) continue;
    const auto led = run::Leadership::led(run);
    if (!led.ok() || !*led) continue;
    if (const auto leader = run::Leadership::told(disk, run); leader.ok())
      runs.push_back({run, *leader, record::last_step(disk, run)});
  }
  return {};
}

Status list(Context& context, const PsOptions& options) {
  Disk& disk = context.host.disk();
  auto runs = led_here(disk);
  for (const auto& folder : options.folders) DLHOST_TRY(add_those_in(disk, folder, runs));
  if (options.json) {
    auto rows = nlohmann::ordered_json::array();
    for (const auto& run : runs) {
      auto workers = nlohmann::ordered_json::array();
      for (const auto& worker : run.leader.workers)
        workers.push_back({{"host", worker.host}, {"process", worker.process}});
      rows.push_back({{"run", run.folder},
                      {"host", run.leader.host},
                      {"leader", run.leader.process},
                      {"workers", std::move(workers)},
                      {"step", run.step},
                      {"recoveries", run.leader.past.times}});
    }
    fmt::print("{}\n", env::json_text(rows, 2));
    return {};
  }
  if (runs.empty()) {
    fmt::print("no run goes on here\n");
    return {};
  }
  std::size_t width = 4;
  for (const auto& run : runs) width = std::max(width, run.leader.host.size());
  fmt::print("{:>{}}  {:>8}  {:>10}  {:>9}  {}\n", "host", width, "leader", "step", "recovered",
             "run, and its other workers' processes");
  for (const auto& run : runs) {
    std::vector<std::string> workers;
    for (const auto& worker : run.leader.workers)
      workers.push_back(worker.host == run.leader.host ? fmt::format("{}", worker.process)
                                                       : fmt::format("{}:{}", worker.host, worker.process));
    fmt::print("{:>{}}  {:>8}  {:>10}  {:>9}  {}{}\n", run.leader.host, width, run.leader.process, run.step,
               run.leader.past.times, run.folder,
               workers.empty() ? "" : fmt::format(" ({})", fmt::join(workers, ", ")));
    // A leader that took the place of a killed one has no terminal; until then the file is empty.
    std::error_code none;
    if (const std::string output = run.folder + "/output.log"; std::filesystem::file_size(output, none) > 0 && !none)
      fmt::print("{:>{}}  its output goes on in {}\n", "", width, output);
  }
  return {};
}

} // namespace

void add_ps(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("ps", "list the runs that go on");
  auto options = std::make_shared<PsOptions>();
  command->add_option("folders", options->folders, "where runs lie that are led on whatever machine")
      ->type_name("FOLDER...");
  command->add_flag("--json", options->json, "print JSON, for programs");
  command->footer(
      "Runs of this machine, led by processes that you may look at, and those that lie in the folders, which "
      "several\nmachines may see. The step is the last that was written down (record.every in the job).\n\n"
      "Examples:\n"
      "  dlhost ps\n"
      "  dlhost ps /shared/runs");
  command->callback([&context, options] {
    if (Status status = list(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
