// A whole run in a simulated world (docs/simulation.md). The leader and the workers are processes of one simulated
// machine; faults are injected at drawn moments. Training, exchange and recovery are the code of real runs.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "config/job.h"
#include "env/simulated/disk_fault.h"
#include "plugin/search.h"
#include "run/coordinator/training.h"
#include "tools/audit/audit.h"

namespace dlhost::tools {

struct SimulationSpec {
  Part transport{"sim", {}};                         // between processes of a world; it has a seed
  std::uint64_t seed = 0;                            // of the world's random numbers; the job has its own
  std::int64_t kills = 0;                            // number of processes to kill, at drawn moments
  std::int64_t again_after = 0;                      // turns after the last kill, until one more; 0: none
  std::int64_t cuts = 0;                             // number of times that a link between two workers is cut
  std::int64_t scales = 0;                           // number of times that workers join or leave
  std::int64_t stops = 0;                            // number of stops of the machine; then the run is resumed
  std::int64_t ends = 0;                             // number of ends by Ctrl-C: the run saves, ends, is resumed
  std::int64_t lost = 0, doubled = 0, reordered = 0; // 1 message in N; 0: none
  Nanoseconds within = 0;                            // simulated time from the start, in which faults are drawn
  env::simulated::DiskFault disk_fault = env::simulated::DiskFault::none; // tests show that such faults are found
  std::vector<double> paces;              // per worker: factor of its device's rate; missing ones are 1
  Nanoseconds longest = 3600'000'000'000; // a run that takes longer counts as hanging
};

// The metrics of a step or an evaluation. Seconds are simulated, of training alone.
struct Measured {
  std::uint64_t step = 0;
  double epoch = 0, seconds = 0;
  Phase phase = Phase::train;
  run::MetricValues metrics;
};

// The faults, by their names on the command line.
struct NamedFault {
  const char* name;
  std::int64_t SimulationSpec::*count;
};
inline constexpr NamedFault named_faults[] = {
    {"kills", &SimulationSpec::kills},         {"again_after", &SimulationSpec::again_after},
    {"cuts", &SimulationSpec::cuts},           {"scales", &SimulationSpec::scales},
    {"stops", &SimulationSpec::stops},         {"ends", &SimulationSpec::ends},
    {"lost", &SimulationSpec::lost},           {"doubled", &SimulationSpec::doubled},
    {"reordered", &SimulationSpec::reordered},
};
inline constexpr std::int64_t most_of_a_fault = 1'000'000; // limit of each number
struct NamedDisk {
  const char* name;
  env::simulated::DiskFault fault;
};
inline constexpr NamedDisk named_disks[] = {{"whole", env::simulated::DiskFault::none},
                                            {"tears", env::simulated::DiskFault::tears},
                                            {"forgets", env::simulated::DiskFault::forgets}};
// The number of faults at drawn moments.
inline std::int64_t at_moments(const SimulationSpec& spec) {
  return spec.kills + spec.cuts + spec.scales + spec.stops + spec.ends;
}
// The options of `dlhost simulate` for this spec: seed, faults, time, speeds and disk.
std::string flags_of(const SimulationSpec&);

struct Simulated {
  Status status; // an error: the reason why the run failed
  run::Outcome outcome;
  std::uint32_t recoveries = 0;
  std::uint32_t replaced = 0;                       // recoveries that replaced a group while the run continued
  std::uint32_t scaled = 0;                         // number of changes to another arrangement
  std::uint32_t ended = 0;                          // number of times that it was asked to save and end, and did
  std::map<std::uint64_t, double> losses;           // per step; of a repeated step, the last
  std::vector<Measured> measured;                   // in order of time, with those of repeated steps
  std::map<std::string, std::vector<float>> params; // in the plain layout
  // The params of each other server group, except groups that are lost at the end, and groups with a server on another
  // machine than the leader's.
  std::vector<std::map<std::string, std::vector<float>>> elsewhere;
  // Own values and histories, of each worker that has such.
  std::vector<std::map<std::string, std::vector<float>>> own_values;
  Audit audit;                   // of the servers' ledgers
  Nanoseconds took = 0;          // simulated
  std::uint64_t history = 0;     // a digest, equal for equal runs
  std::vector<std::string> told; // log of the world's events
};

// Errors: the run's status; corrupt if its ledgers have faults.
Status verdict(const Simulated&);

// Simulates a run. The simulation sets the job's `transport` and `run_as`. Sources read from this machine's disk;
// nothing is written to it. `plugins`: the places to search for plugins.
Simulated simulate(config::Job job, std::span<const plugin::SearchEntry> plugins, const SimulationSpec&);

} // namespace dlhost::tools
