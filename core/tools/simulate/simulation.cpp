#include "tools/simulate/simulation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dlhost/random.h>

#include "env/disk.h"
#include "env/simulated/host.h"
#include "tools/simulate/simulated_run.h"

namespace dlhost::tools {
namespace {

// Kills one of the run's processes, drawn at random. Kills none if none may be killed, for example while all restart.
void kill_one(env::simulated::World& world, const SimulatedRun& run) {
  const std::vector<int> mortals = run.mortals();
  if (!mortals.empty()) world.kill(mortals[world.below(static_cast<std::uint32_t>(mortals.size()))]);
}

// Draws another arrangement for the job: another number of groups if each group is one worker, which some handlers
// require; else another number of workers per group. The number of servers is drawn too.
config::Topology drawn_arrangement(env::simulated::World& world, const config::Job& job) {
  const auto below = [&](std::int64_t n) { return std::int64_t{world.below(static_cast<std::uint32_t>(n))}; };
  config::Topology topology = job.topology;
  if (topology.workers_per_group == 1)
    topology.worker_groups = topology.server_groups + below(4);
  else if (job.train.reproducible) // its blocks of samples divide equally among a power of two of workers
    topology.workers_per_group = std::int64_t{1} << below(3);
  else
    topology.workers_per_group = 1 + below(std::min<std::int64_t>(job.train.batch, 4));
  topology.servers_per_group = 1 + below(topology.worker_groups / topology.server_groups * topology.workers_per_group);
  return topology;
}

// Draws links between two seats, and the times in which they are cut: at least as long as it takes to notice a cut.
List cuts(const config::Job& job, const SimulationSpec& spec) {
  Random random({spec.seed, 1}, 0, 0);
  const std::uint32_t seats = plan::Place::seats(job.topology);
  const auto within = static_cast<std::uint32_t>(std::max<Nanoseconds>(1, spec.within / 1000));
  List cuts;
  for (std::int64_t i = 0; i < spec.cuts && seats > 1; ++i) {
    const std::uint32_t one = random.below(seats), other = (one + 1 + random.below(seats - 1)) % seats;
    const double from = random.below(within) * 1e-6, lasts = 0.05 + random.below(100) * 1e-3;
    cuts.push_back({fmt::format("seat{} seat{} {:.6f} {:.6f}", one, other, from, from + lasts), {}});
  }
  return cuts;
}

void adapt(config::Job& job, const SimulationSpec& spec) {
  job.topology.run_as = config::RunAs::processes;
  job.topology.transport = spec.transport;
  job.topology.transport.options.entries.emplace_back("seed", Value{static_cast<std::int64_t>(spec.seed >> 1), {}});
  job.train.threads = 1;       // a simulated world is one thread
  job.record.folder = "/runs"; // of the simulated disk
  job.checkpoint.folder.clear();
  for (const auto& [name, one_in] :
       {std::pair("lost", spec.lost), std::pair("doubled", spec.doubled), std::pair("reordered", spec.reordered)})
    if (one_in > 0)
      job.topology.transport.options.entries.emplace_back(name, Value{1.0 / static_cast<double>(one_in), {}});
  if (spec.cuts > 0) job.topology.transport.options.entries.emplace_back("outage", Value{cuts(job, spec), {}});
  if (job.topology.machines > 1) job.topology.network = job.topology.transport;
}

} // namespace

std::string flags_of(const SimulationSpec& spec) {
  std::vector<std::string> faults;
  for (const auto& [name, count] : named_faults)
    if (spec.*count > 0) faults.push_back(fmt::format("{}={}", name, spec.*count));
  std::string flags = fmt::format("--seed {}", spec.seed);
  if (!faults.empty()) flags += fmt::format(" --faults {}", fmt::join(faults, ","));
  if (at_moments(spec) > 0) flags += fmt::format(" --within {}", static_cast<double>(spec.within) * 1e-9);
  if (!spec.paces.empty()) flags += fmt::format(" --speeds {}", fmt::join(spec.paces, ","));
  if (spec.disk_fault != env::simulated::DiskFault::none)
    flags += fmt::format(" --disk {}", std::ranges::find(named_disks, spec.disk_fault, &NamedDisk::fault)->name);
  return flags;
}

Status verdict(const Simulated& simulated) {
  return simulated.status.ok() ? verdict(simulated.audit.faults) : simulated.status;
}

Simulated simulate(config::Job job, std::span<const plugin::SearchEntry> plugins, const SimulationSpec& spec) {
  adapt(job, spec);
  Simulated result;
  env::PosixDisk disk;
  env::simulated::World world(spec.seed);
  env::simulated::SimulatedHost host(world, &disk);
  host.disk().put_in(spec.disk_fault);
  plugin::Registry registry(plugins, host);
  host.set_maker([&](Kind kind, const Part& part) { return registry.make(kind, part.type, part.options); });
  SimulatedRun run(world, host, registry, job, spec.paces, result);
  if (result.status = run.check_paces(); !result.status.ok()) return result;
  const auto stop_machine = [&] {
    if (run.is_over() || !world.kill_all()) return;
    host.disk().crash(0);
    world.tell("the machine has stopped and starts again");
    run.resume();
  };
  const auto at_a_moment = [&](auto what) {
    const auto microseconds = static_cast<std::uint32_t>(std::max<Nanoseconds>(1, spec.within / 1000));
    world.at(Nanoseconds{world.below(microseconds)} * 1000, what);
  };
  std::int64_t kills_left = spec.kills;
  const auto kill = [&] {
    kill_one(world, run);
    if (--kills_left == 0 && spec.again_after > 0)
      world.after_turns(static_cast<std::uint64_t>(spec.again_after), [&] { kill_one(world, run); });
  };
  for (std::int64_t i = 0; i < spec.kills; ++i) at_a_moment(kill);
  for (std::int64_t i = 0; i < spec.scales; ++i) at_a_moment([&] { run.wish(drawn_arrangement(world, job)); });
  for (std::int64_t i = 0; i < spec.stops; ++i) at_a_moment(stop_machine);
  for (std::int64_t i = 0; i < spec.ends; ++i) at_a_moment([&] { run.ask_to_end(); });
  run.begin();
  Status ended = world.run(spec.longest);
  result.status = ended.ok() ? run.status() : std::move(ended);
  result.history = world.history();
  result.told = world.told();
  return result;
}

} // namespace dlhost::tools
