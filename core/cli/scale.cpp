// dlhost scale: changes the workers and servers of a running run.
#include <fmt/format.h>

#include "cli/job_file.h"
#include "cli/opened_run.h"
#include "cli/run/leader.h"
#include "cli/run_named.h"
#include "config/dump.h"
#include "env/process/process.h"
#include "plan/place.h"
#include "record/run_folder.h"
#include "run/coordinator/scaling.h"

namespace dlhost::cli {
namespace {

struct ScaleOptions {
  std::string run;
  std::optional<int> worker_groups, workers_per_group, server_groups, servers_per_group;
  double wait = 60; // seconds

  std::vector<std::string> settings() const {
    std::vector<std::string> set;
    const auto add = [&](const char* key, const std::optional<int>& count) {
      if (count) set.push_back(fmt::format("topology.{}={}", key, *count));
    };
    add("worker_groups", worker_groups);
    add("workers_per_group", workers_per_group);
    add("server_groups", server_groups);
    add("servers_per_group", servers_per_group);
    if (workers_per_group) set.push_back("topology.batch_shares=[]"); // the old shares were for other workers
    return set;
  }
};

// Checks the wanted job here, before the run is asked.
Result<config::Job> wanted_of(Context& context, const ScaleOptions& options) {
  const auto settings = options.settings();
  if (settings.empty())
    return Status::invalid(
        "nothing to change: give --worker-groups, --workers-per-group, --server-groups or --servers-per-group");
  DLHOST_ASSIGN(const auto job_file, record::RunFolder::job_above(context.host.disk(), options.run));
  DLHOST_ASSIGN(auto wanted, load_job(context, job_file, settings));
  DLHOST_TRY(run::Session::open(context.host, context.registry(), wanted).status());
  return wanted;
}

Status wait_for_answer(Context& context, const ScaleOptions& options, run::Scaling& scaling,
                       const config::Job& wanted) {
  constexpr Nanoseconds pause = 20'000'000;
  Clock& clock = context.host.clock();
  const Nanoseconds end = clock.now() + static_cast<Nanoseconds>(options.wait * 1e9);
  while (clock.now() < end) {
    DLHOST_ASSIGN(const bool led, run::Leadership::led(options.run));
    DLHOST_ASSIGN(const auto answer, scaling.answer());
    if (answer && !answer->refused.empty())
      return Status::invalid("the run continues unchanged, at step ", answer->step, ": ", answer->refused);
    if (answer) {
      const config::Topology& topology = wanted.topology;
      fmt::print("{}: {} worker group{} of {}, {} server group{} of {}, since step {}\n", options.run,
                 topology.worker_groups, topology.worker_groups == 1 ? "" : "s", topology.workers_per_group,
                 topology.server_groups, topology.server_groups == 1 ? "" : "s", topology.servers_per_group,
                 answer->step);
      return {};
    }
    if (!led) {
      scaling.forget();
      return Status::gone("the run in '", options.run, "' has ended before it could be scaled");
    }
    clock.sleep(pause);
  }
  return Status::timeout("the run has not answered within ", options.wait,
                         " s: it may be in a long step or an evaluation, and scales afterwards (--wait SECONDS)");
}

Status scale(Context& context, ScaleOptions options) {
  DLHOST_ASSIGN(options.run, run_named(context.host.disk(), options.run));
  DLHOST_TRY(leader_of(context, options.run).status());
  DLHOST_ASSIGN(const auto wanted, wanted_of(context, options));
  run::Scaling scaling(context.host.disk(), options.run);
  DLHOST_TRY(scaling.wish(config::to_toml(wanted, env::working_folder())));
  return wait_for_answer(context, options, scaling, wanted);
}

} // namespace

void add_scale(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("scale", "add workers and servers to a run in progress, or remove them");
  auto options = std::make_shared<ScaleOptions>();
  add_run_named(*command, options->run);
  const auto add = [&](const char* name, std::optional<int>& count, const char* what) {
    command->add_option(name, count, what)->check(CLI::PositiveNumber)->type_name("N");
  };
  add("--worker-groups", options->worker_groups, "number of worker groups, each with its own batches");
  add("--workers-per-group", options->workers_per_group, "number of workers that share a group's batch");
  add("--server-groups", options->server_groups, "number of server groups, each with all params");
  add("--servers-per-group", options->servers_per_group, "number of servers that share the params of a group");
  command->add_option("--wait", options->wait, "how long to wait for it")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS")
      ->capture_default_str();
  command->footer(
      "Counts that are left out stay. The run pauses between two steps, when all sent updates are in its\n"
      "params, and continues with the new numbers of workers and servers, at the same place of its data. Under\n"
      "`strict` the params are those of a run that was never scaled (up to rounding, where the batch is summed\n"
      "in other parts). If the run cannot be scaled, it continues unchanged, and this command prints the\n"
      "reason.\n\n"
      "Examples:\n"
      "  dlhost scale runs/digits-... --workers-per-group 4\n"
      "  dlhost scale runs/digits-... --worker-groups 2 --servers-per-group 2");
  command->callback([&context, options] {
    if (Status status = scale(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
