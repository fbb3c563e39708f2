// dlhost simulate: a whole run in virtual time, in this process, from one seed.
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/job_file.h"
#include "cli/tools.h"
#include "config/dump.h"
#include "env/process/process.h"
#include "record/metrics_log.h"
#include "tools/simulate/shrink.h"
#include "tools/simulate/simulation.h"
#include "tools/tool.h"

namespace dlhost::tools {
namespace {

struct SimulateOptions {
  std::string job;
  std::vector<std::string> set, faults;
  std::uint64_t seed = 1;
  double within = 0;
  std::vector<double> paces;
  std::string disk = named_disks[0].name;
  std::string smaller, record;
};

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

void print(const Simulated& simulated) {
  for (const auto& line : simulated.told) fmt::print("{}\n", line);
  fmt::print("{} steps in {:.6f} simulated s, {} recoveries; history {:016x}\n", simulated.losses.size(),
             seconds(simulated.took), simulated.recoveries, simulated.history);
}

std::string known_faults() {
  std::string all;
  for (const auto& fault : named_faults) all += concat(all.empty() ? "" : ", ", fault.name, "=N");
  return all;
}

std::vector<std::string> disk_names() {
  std::vector<std::string> all;
  for (const auto& disk : named_disks) all.emplace_back(disk.name);
  return all;
}

// Parses a fault such as "kills=2".
Status read_fault(const std::string& text, SimulationSpec& spec) {
  const auto sign = std::min(text.find('='), text.size());
  const std::string kind = text.substr(0, sign), number = text.substr(std::min(sign + 1, text.size()));
  const auto* const known = std::ranges::find(named_faults, kind, &NamedFault::name);
  const char* const end = number.data() + number.size();
  std::uint32_t read = 0;
  const auto how = std::from_chars(number.data(), end, read);
  if (known == std::end(named_faults) || how.ec != std::errc() || how.ptr != end || read > most_of_a_fault)
    return Status::invalid("--faults: '", text, "' is not a fault: known are ", known_faults(),
                           ", with N up to a million");
  spec.*(known->count) = read;
  return {};
}

// Writes the metrics of the simulated run, for `dlhost plot`.
Status record(cli::Context& context, const Simulated& simulated, const config::Job& job,
              const record::RunFolder& folder) {
  DLHOST_TRY(folder.write_job(config::to_toml(job, env::working_folder())));
  DLHOST_ASSIGN(auto log, record::MetricsLog::open(context.host, folder, {.tensorboard = job.record.tensorboard}));
  for (const auto& [step, epoch, at, phase, metrics] : simulated.measured) {
    if (phase == Phase::train)
      DLHOST_TRY(log->train({.step = step, .epoch = epoch, .seconds = at, .metrics = metrics}));
    else
      DLHOST_TRY(log->evaluation({.phase = phase == Phase::test ? "test" : "validation",
                                  .step = step,
                                  .epoch = epoch,
                                  .seconds = at,
                                  .metrics = metrics}));
  }
  return log->sync();
}

// Searches for a smaller run that fails like the first, not by becoming invalid.
Status shrink(cli::Context& context, const Failing& first, const Simulated& failed,
              std::span<const plugin::SearchEntry> plugins, const std::string& path) {
  fmt::print("looking for a smaller run that fails alike\n");
  const auto smaller =
      shrink(first, [&](const Failing& run) { return fail_alike(failed, simulate(run.job, plugins, run.spec)); });
  const auto simulated = simulate(smaller.job, plugins, smaller.spec);
  print(simulated);
  DLHOST_TRY(context.host.disk().write_text(path, config::to_toml(smaller.job, env::working_folder())));
  fmt::print("it fails as well: {}\n  dlhost simulate {} {}\n", verdict(simulated).message(), path,
             flags_of(smaller.spec));
  return {};
}

Status simulate_job(cli::Context& context, const SimulateOptions& options) {
  DLHOST_ASSIGN(const auto job, cli::load_job(context, options.job, options.set));
  const auto plugins = plugin::entries_of(plugin::settings_of_process(context.plugin_dirs));
  SimulationSpec spec{.seed = options.seed, .paces = options.paces};
  for (const auto& fault : options.faults) DLHOST_TRY(read_fault(fault, spec));
  spec.within = static_cast<Nanoseconds>(options.within * 1e9);
  spec.disk_fault = std::ranges::find(named_disks, options.disk, &NamedDisk::name)->fault;
  std::optional<record::RunFolder> folder; // made before the run, which may take long
  if (!options.record.empty()) {
    DLHOST_ASSIGN(folder, record::RunFolder::make_at(context.host, options.record));
  }
  if (at_moments(spec) > 0 && spec.within == 0) {
    const auto whole = simulate(job, plugins, {.seed = options.seed, .paces = options.paces});
    DLHOST_TRY(verdict(whole).at("without faults"));
    fmt::print("without faults it takes {:.6f} simulated s\n", seconds(whole.took));
    spec.within = whole.took;
  }
  const auto simulated = simulate(job, plugins, spec);
  print(simulated);
  if (folder) DLHOST_TRY(record(context, simulated, job, *folder));
  Status verdict = tools::verdict(simulated);
  if (!verdict.ok() && !options.smaller.empty())
    DLHOST_TRY(shrink(context, {job, spec}, simulated, plugins, options.smaller));
  return verdict;
}

} // namespace

void add_command(CLI::App& app, cli::Context& context) {
  auto* command = app.add_subcommand("simulate", cli::description_of_tool("simulate"));
  auto options = std::make_shared<SimulateOptions>();
  command->add_option("job", options->job, "the job file")->required()->type_name("JOB.toml");
  command->add_option("--set", options->set, "change one key of the job; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--seed", options->seed,
                   "of the random draws of the simulated world: the order of processes, the times of messages")
      ->type_name("NUMBER")
      ->capture_default_str();
  command
      ->add_option(
          "--faults", options->faults,
          "faults at random moments: kills=N, a worker is killed so many times; again_after=N, and one more N turns "
          "of tasks after that; cuts=N, the link between two "
          "workers is cut for a while; scales=N, workers join or leave; stops=N, the whole "
          "machine stops, and the run is resumed; ends=N, the run is asked to save and end, as by Ctrl-C, and "
          "is resumed; lost=N, doubled=N and reordered=N, one message in N never "
          "arrives, comes twice, or comes behind some that were sent after it")
      ->delimiter(',')
      ->type_name("FAULT=N,...")
      ->allow_extra_args(false);
  command
      ->add_option("--disk", options->disk,
                   "what a disk does with synced data when the machine stops: it keeps all (whole), tears lines "
                   "(tears), or loses data (forgets)")
      ->check(CLI::IsMember(disk_names()))
      ->type_name("KIND")
      ->capture_default_str();
  command
      ->add_option("--within", options->within,
                   "the moments are in the first so many simulated seconds; left out: in the time that the run takes "
                   "without faults")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  command
      ->add_option("--speeds,--paces", options->paces,
                   "speeds of the workers, the leader first: 0.5 computes at half the device's rate; the other workers "
                   "compute at the rate")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("FACTOR,...")
      ->allow_extra_args(false);
  command
      ->add_option("--record", options->record,
                   "make a run's folder there, new or empty, with the measurements: `dlhost plot` draws it")
      ->type_name("FOLDER");
  command
      ->add_option("--shrink-to,--smaller", options->smaller,
                   "if the run fails, look for a smaller one that fails alike, and write its job there")
      ->type_name("JOB.toml");
  command->footer(
      "Workers are simulated processes, for any run_as; only --record writes to the disk. Events are printed\n"
      "with their times; the same seed gives the same events. A device that charges for its ops (ref with a\n"
      "rate) lets computing take time. The command fails if the run fails, or if its ledgers have faults\n"
      "(`dlhost audit --help`).\n\n"
      "Example:\n"
      "  dlhost simulate job.toml --set topology.workers_per_group=4 --seed 7 --faults kills=2,cuts=1");
  command->callback([&context, options] {
    if (const Status status = simulate_job(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::tools
