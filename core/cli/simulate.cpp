// dlhost simulate: a whole run in virtual time, in this process, from one seed.
#include <memory>

#include <fmt/format.h>

#include "cli/job_file.h"
#include "run/simulation.h"

namespace dlhost::cli {
namespace {

struct SimulateOptions {
  std::string job;
  std::vector<std::string> set;
  std::uint64_t seed = 1;
  int kills = 0;
};

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

void print(const run::Simulated& simulated) {
  for (const auto& line : simulated.told) fmt::print("{}\n", line);
  fmt::print("{} steps in {:.6f} simulated s, {} recoveries; history {:016x}\n", simulated.losses.size(),
             seconds(simulated.took), simulated.recoveries, simulated.history);
}

// Deaths are drawn over the time that the run takes without.
Status simulate_job(Context& context, const SimulateOptions& options) {
  DLHOST_ASSIGN(const auto job, load_job(context, options.job, options.set));
  const auto plugins = plugin::entries_of(plugin::settings_of_process(context.plugin_dirs));
  run::SimulationSpec spec{.seed = options.seed};
  if (options.kills > 0) {
    const auto whole = run::simulate(job, plugins, spec);
    DLHOST_TRY(Status(whole.status).at("without deaths"));
    fmt::print("without deaths it takes {:.6f} simulated s\n", seconds(whole.took));
    spec.kills = options.kills;
    spec.within = whole.took;
  }
  const auto simulated = run::simulate(job, plugins, spec);
  print(simulated);
  return simulated.status;
}

} // namespace

void add_simulate(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("simulate", "train a job in virtual time, in one process, from one seed");
  auto options = std::make_shared<SimulateOptions>();
  command->add_option("job", options->job, "the job file")->required()->type_name("JOB.toml");
  command->add_option("--set", options->set, "change one key of the job; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--seed", options->seed,
                   "of what is drawn about the world: whose turn it is, how long messages take")
      ->type_name("NUMBER")
      ->capture_default_str();
  command->add_option("--kills", options->kills, "so many times a worker is killed")
      ->check(CLI::Range(0, 1000))
      ->type_name("NUMBER")
      ->capture_default_str();
  command->footer("Workers are simulated processes, whatever run_as says; nothing is written to disk. What happened is "
                  "printed, with\n"
                  "when; the same seed gives the same again. A device that charges for its ops (ref with a rate) lets "
                  "computing take\n"
                  "time.\n\n"
                  "Example:\n"
                  "  dlhost simulate job.toml --set topology.workers_per_group=4 --seed 7 --kills 2");
  command->callback([&context, options] {
    if (const Status status = simulate_job(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
