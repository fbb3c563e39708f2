#include "tools/simulate/shrink.h"

#include <algorithm>
#include <string>

#include "plan/place.h"

namespace dlhost::tools {
namespace {

struct Number {
  std::int64_t least;
  std::int64_t& (*of)(Failing&);
};

// The first numbers make later trials cheaper.
const Number numbers[] = {
    {1, [](Failing& run) -> std::int64_t& { return run.job.train.stop.steps; }},
    {0, [](Failing& run) -> std::int64_t& { return run.spec.cuts; }},
    {0, [](Failing& run) -> std::int64_t& { return run.spec.kills; }},
    {0, [](Failing& run) -> std::int64_t& { return run.spec.stops; }},
    {0, [](Failing& run) -> std::int64_t& { return run.spec.ends; }},
    {0, [](Failing& run) -> std::int64_t& { return run.spec.scales; }},
    {1, [](Failing& run) -> std::int64_t& { return run.job.topology.server_groups; }},
    {1, [](Failing& run) -> std::int64_t& { return run.job.topology.worker_groups; }},
    {1, [](Failing& run) -> std::int64_t& { return run.job.topology.workers_per_group; }},
    {1, [](Failing& run) -> std::int64_t& { return run.job.topology.servers_per_group; }},
};

// One message in so many is affected; 0: none. Larger numbers mean fewer faults.
const Number rarities[] = {
    {0, [](Failing& run) -> std::int64_t& { return run.spec.lost; }},
    {0, [](Failing& run) -> std::int64_t& { return run.spec.doubled; }},
    {0, [](Failing& run) -> std::int64_t& { return run.spec.reordered; }},
};

Failing with(Failing run, const Number& number, std::int64_t value) {
  number.of(run) = value;
  if (run.job.topology.server_groups == 1) run.job.topology.sync = {};
  run.spec.paces.resize(std::min<std::size_t>(run.spec.paces.size(), plan::Place::seats(run.job.topology)));
  return run;
}

// A fault's text without its numbers, which differ in a smaller run.
std::string kind_of(const std::string& fault) { return fault.substr(0, fault.find_first_of("0123456789")); }

} // namespace

bool fail_alike(const Simulated& one, const Simulated& other) {
  if (!one.status.ok() || !other.status.ok()) return one.status.code() == other.status.code();
  return std::ranges::any_of(other.audit.faults, [&](const std::string& fault) {
    return std::ranges::find(one.audit.faults, kind_of(fault), kind_of) != one.audit.faults.end();
  });
}

Failing shrink(Failing failing, const std::function<bool(const Failing&)>& fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    const auto accept = [&](Failing candidate) {
      if (!fails(candidate)) return false;
      failing = std::move(candidate);
      return smaller = true;
    };
    for (const Number& number : numbers) {
      const std::int64_t now = number.of(failing);
      if (now <= number.least) continue; // 0 may mean that it is not set
      for (const std::int64_t value : {number.least, (number.least + now) / 2, now - 1})
        if (value < now && accept(with(failing, number, value))) break;
    }
    for (const Number& one_in : rarities) {
      if (one_in.of(failing) == one_in.least || accept(with(failing, one_in, one_in.least))) continue;
      while (2 * one_in.of(failing) <= most_of_a_fault && accept(with(failing, one_in, 2 * one_in.of(failing)))) {
      }
    }
    if (failing.spec.disk_fault != env::simulated::DiskFault::none) {
      Failing whole = failing;
      whole.spec.disk_fault = env::simulated::DiskFault::none;
      accept(std::move(whole));
    }
    if (!failing.job.topology.codec.type.empty()) {
      Failing plain = failing;
      plain.job.topology.codec = {};
      accept(std::move(plain));
    }
  }
  return failing;
}

} // namespace dlhost::tools
