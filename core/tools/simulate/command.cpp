// dlhost simulate: a whole run in virtual time, in this process, from one seed.
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/job_file.h"
#include "config/dump.h"
#include "env/process/process.h"
#include "record/metrics_log.h"
#include "run/shrink.h"
#include "run/simulation.h"

namespace dlhost::cli {
namespace {

struct SimulateOptions {
  std::string job;
  std::vector<std::string> set, faults;
  std::uint64_t seed = 1;
  double within = 0;
  std::vector<double> paces;
  std::string disk = run::named_disks[0].name;
  std::string smaller, record;
};

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

void print(const run::Simulated& simulated) {
  for (const auto& line : simulated.told) fmt::print("{}\n", line);
  fmt::print("{} steps in {:.6f} simulated s, {} recoveries; history {:016x}\n", simulated.losses.size(),
             seconds(simulated.took), simulated.recoveries, simulated.history);
}

std::string known_faults() {
  std::string all;
  for (const auto& fault : run::named_faults) all += concat(all.empty() ? "" : ", ", fault.name, "=N");
  return all;
}

std::vector<std::string> disk_names() {
  std::vector<std::string> all;
  for (const auto& disk : run::named_disks) all.emplace_back(disk.name);
  return all;
}

// "kills=2"
Status read_fault(const std::string& text, run::SimulationSpec& spec) {
  const auto sign = std::min(text.find('='), text.size());
  const std::string kind = text.substr(0, sign), number = text.substr(std::min(sign + 1, text.size()));
  const auto* const known = std::ranges::find(run::named_faults, kind, &run::NamedFault::name);
  const char* const end = number.data() + number.size();
  std::uint32_t read = 0;
  const auto how = std::from_chars(number.data(), end, read);
  if (known == std::end(run::named_faults) || how.ec != std::errc() || how.ptr != end || read > run::most_of_a_fault)
    return Status::invalid("--faults: '", text, "' is no fault: known are ", known_faults(),
                           ", with N up to a million");
  spec.*(known->count) = read;
  return {};
}

// What was measured, for `dlhost plot`.
Status record(Context& context, const run::Simulated& simulated, const config::Job& job,
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

// As the first did, and not because it became one that cannot be.
Status shrink(Context& context, const run::Failing& first, const run::Simulated& failed,
              std::span<const plugin::SearchEntry> plugins, const std::string& path) {
  fmt::print("looking for a smaller run that fails alike\n");
  const auto smaller = run::shrink(first, [&](const run::Failing& run) {
    return run::fail_alike(failed, run::simulate(run.job, plugins, run.spec));
  });
  const auto simulated = run::simulate(smaller.job, plugins, smaller.spec);
  print(simulated);
  DLHOST_TRY(context.host.disk().write_text(path, config::to_toml(smaller.job, env::working_folder())));
  fmt::print("it fails as well: {}\n  dlhost simulate {} {}\n", run::verdict(simulated).message(), path,
             run::flags_of(smaller.spec));
  return {};
}

Status simulate_job(Context& context, const SimulateOptions& options) {
  DLHOST_ASSIGN(const auto job, load_job(context, options.job, options.set));
  const auto plugins = plugin::entries_of(plugin::settings_of_process(context.plugin_dirs));
  run::SimulationSpec spec{.seed = options.seed, .paces = options.paces};
  for (const auto& fault : options.faults) DLHOST_TRY(read_fault(fault, spec));
  spec.within = static_cast<Nanoseconds>(options.within * 1e9);
  spec.disk_fault = std::ranges::find(run::named_disks, options.disk, &run::NamedDisk::name)->fault;
  std::optional<record::RunFolder> folder; // before the run, which may take long
  if (!options.record.empty()) {
    DLHOST_ASSIGN(folder, record::RunFolder::make_at(context.host, options.record));
  }
  if (run::at_moments(spec) > 0 && spec.within == 0) {
    const auto whole = run::simulate(job, plugins, {.seed = options.seed, .paces = options.paces});
    DLHOST_TRY(run::verdict(whole).at("without faults"));
    fmt::print("without faults it takes {:.6f} simulated s\n", seconds(whole.took));
    spec.within = whole.took;
  }
  const auto simulated = run::simulate(job, plugins, spec);
  print(simulated);
  if (folder) DLHOST_TRY(record(context, simulated, job, *folder));
  Status verdict = run::verdict(simulated);
  if (!verdict.ok() && !options.smaller.empty())
    DLHOST_TRY(shrink(context, {job, spec}, simulated, plugins, options.smaller));
  return verdict;
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
  command
      ->add_option("--faults", options->faults,
                   "what goes wrong, at drawn moments: kills=N, a worker is killed so many times; cuts=N, the link "
                   "between two of them is cut for a while; scales=N, workers join or leave; stops=N, the whole "
                   "machine stops, and the run is resumed; ends=N, the run is asked to save and end, as by Ctrl-C, and "
                   "is resumed; lost=N, doubled=N and reordered=N, one message in N never "
                   "arrives, comes twice, or comes behind some that were sent after it")
      ->delimiter(',')
      ->type_name("FAULT=N,...")
      ->allow_extra_args(false);
  command
      ->add_option("--disk", options->disk,
                   "where the machine stops, of a disk that keeps its word (whole), that tears lines which it said "
                   "were there (tears), or that forgets what was synced (forgets): to see what comes of it")
      ->check(CLI::IsMember(disk_names()))
      ->type_name("KIND")
      ->capture_default_str();
  command
      ->add_option("--within", options->within,
                   "the moments are in the first so many simulated seconds; else while the run takes without faults")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  command
      ->add_option("--speeds,--paces", options->paces,
                   "of the workers, the leader first: 0.5 computes half as fast as the device's rate says; those not "
                   "named, at it")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("FACTOR,...")
      ->allow_extra_args(false);
  command
      ->add_option("--record", options->record,
                   "make a run's folder there, new or empty, with what was measured: `dlhost plot` draws it")
      ->type_name("FOLDER");
  command
      ->add_option("--shrink-to,--smaller", options->smaller,
                   "if the run fails, look for a smaller one that fails alike, and write its job there")
      ->type_name("JOB.toml");
  command->footer("Workers are simulated processes, whatever run_as says; nothing of them is written to disk but with "
                  "--record.\n"
                  "What happened is printed, with when; the same seed gives the same again. A device that charges for "
                  "its ops (ref\n"
                  "with a rate) lets computing take time. The command fails where the run does, and where its ledgers "
                  "have faults\n"
                  "(`dlhost audit --help`).\n\n"
                  "Example:\n"
                  "  dlhost simulate job.toml --set topology.workers_per_group=4 --seed 7 --faults kills=2,cuts=1");
  command->callback([&context, options] {
    if (const Status status = simulate_job(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
