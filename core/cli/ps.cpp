// dlhost ps: the runs of this machine that go on.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "env/holders.h"
#include "record/curves.h"
#include "run/leadership.h"

namespace dlhost::cli {
namespace {

struct Running {
  std::string folder;
  run::Leader leader;
  std::uint64_t step = 0;
};

std::vector<Running> running(Disk& disk) {
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

Status list(Context& context, bool json) {
  const auto runs = running(context.host.disk());
  if (json) {
    auto rows = nlohmann::ordered_json::array();
    for (const auto& run : runs)
      rows.push_back({{"run", run.folder},
                      {"leader", run.leader.process},
                      {"workers", run.leader.workers},
                      {"step", run.step},
                      {"recoveries", run.leader.past.times}});
    fmt::print("{}\n", rows.dump(2));
    return {};
  }
  if (runs.empty()) {
    fmt::print("no run goes on here\n");
    return {};
  }
  fmt::print("{:>8}  {:>10}  {:>9}  {}\n", "leader", "step", "recovered", "run, and its other workers' processes");
  for (const auto& run : runs)
    fmt::print("{:>8}  {:>10}  {:>9}  {}{}\n", run.leader.process, run.step, run.leader.past.times, run.folder,
               run.leader.workers.empty() ? "" : fmt::format(" ({})", fmt::join(run.leader.workers, ", ")));
  return {};
}

} // namespace

void add_ps(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("ps", "list the runs that go on");
  auto json = std::make_shared<bool>();
  command->add_flag("--json", *json, "print JSON, for programs");
  command->footer("Runs of this machine, led by processes that you may look at. The step is the last that was written "
                  "down\n(record.every in the job).");
  command->callback([&context, json] {
    if (Status status = list(context, *json); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
