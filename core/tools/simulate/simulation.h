// A whole run in a simulated world (docs/simulation.md): its leader and each of its workers are processes of one
// machine, and some of the workers are killed on the way. What trains, exchanges and recovers is what real runs have.
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
  std::uint64_t seed = 0;                            // of all that is drawn about the world; the job has its own
  std::int64_t kills = 0;                            // of a worker, at drawn moments
  std::int64_t cuts = 0;                             // of the link between two workers, for a while
  std::int64_t scales = 0;                           // how often workers join or leave
  std::int64_t stops = 0;                            // of the whole machine, after which the run is resumed
  std::int64_t ends = 0;                             // as Ctrl-C ends it: it saves, ends, and is resumed
  std::int64_t lost = 0, doubled = 0, reordered = 0; // one message in so many; 0: none
  Nanoseconds within = 0;                            // from the start, in simulated time
  env::simulated::DiskFault disk_fault = env::simulated::DiskFault::none; // to see that it is caught
  std::vector<double> paces;              // of each worker, on the rate of its device; 1 where there are no more
  Nanoseconds longest = 3600'000'000'000; // what takes longer hangs
};

// What was found after a step; seconds are simulated, and of training alone.
struct Measured {
  std::uint64_t step = 0;
  double epoch = 0, seconds = 0;
  Phase phase = Phase::train;
  run::MetricValues metrics;
};

// What may go wrong, by the words that people give it.
struct NamedFault {
  const char* name;
  std::int64_t SimulationSpec::*count;
};
inline constexpr NamedFault named_faults[] = {
    {"kills", &SimulationSpec::kills},     {"cuts", &SimulationSpec::cuts},
    {"scales", &SimulationSpec::scales},   {"stops", &SimulationSpec::stops},
    {"ends", &SimulationSpec::ends},       {"lost", &SimulationSpec::lost},
    {"doubled", &SimulationSpec::doubled}, {"reordered", &SimulationSpec::reordered},
};
inline constexpr std::int64_t most_of_a_fault = 1'000'000; // N of it
struct NamedDisk {
  const char* name;
  env::simulated::DiskFault fault;
};
inline constexpr NamedDisk named_disks[] = {{"whole", env::simulated::DiskFault::none},
                                            {"tears", env::simulated::DiskFault::tears},
                                            {"forgets", env::simulated::DiskFault::forgets}};
// What of it goes wrong at drawn moments.
inline std::int64_t at_moments(const SimulationSpec& spec) {
  return spec.kills + spec.cuts + spec.scales + spec.stops + spec.ends;
}
// As `dlhost simulate` takes it: its seed, its faults, from when to when, and its disk.
std::string flags_of(const SimulationSpec&);

struct Simulated {
  Status status; // not ok: how the run ended
  run::Outcome outcome;
  std::uint32_t recoveries = 0;
  std::uint32_t replaced = 0;                       // of these, groups while the others went on
  std::uint32_t scaled = 0;                         // how often it went on in another arrangement
  std::uint32_t ended = 0;                          // how often it was asked to save and end, and did
  std::map<std::uint64_t, double> losses;           // of each step, as it was last made
  std::vector<Measured> measured;                   // one after another, those of steps that were made again as well
  std::map<std::string, std::vector<float>> params; // plain
  // As the servers of each other server group have them, but for those whose values lie on another machine.
  std::vector<std::map<std::string, std::vector<float>>> elsewhere;
  // Of each worker that has some: its own values and histories.
  std::vector<std::map<std::string, std::vector<float>>> own_values;
  Audit audit;                   // of the ledgers that its servers kept
  Nanoseconds took = 0;          // simulated
  std::uint64_t history = 0;     // equal for equal runs
  std::vector<std::string> told; // what happened
};

// Not ok: it ended as it should not, or its ledgers have faults.
Status verdict(const Simulated&);

// The job's `transport` and `run_as` are the simulation's; its sources read this machine's disk, and nothing is written
// there. `plugins`: where to find them.
Simulated simulate(config::Job job, std::span<const plugin::SearchEntry> plugins, const SimulationSpec&);

} // namespace dlhost::tools
