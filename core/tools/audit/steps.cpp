// Checks that each step of a worker is in a version or was dropped, for each slice that the worker contributes to.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "plan/exchange_plugins.h"
#include "plan/place.h"
#include "tools/audit/held.h"

namespace dlhost::tools {
namespace {

struct Steps {
  std::uint64_t first = 0, end = 0;
};

// A contributor's steps that are in a slice or were dropped from it, sorted by the first.
std::vector<Steps> decided(const Audit& audit, const Audit::Slice& slice, std::size_t contributor) {
  std::vector<Steps> all;
  for (const Audit::Word& word : slice.words)
    for (const Audit::Part& part : word.parts)
      if (part.contributor == contributor)
        all.push_back({part.step, part.step + std::max<std::uint64_t>(word.count, 1)});
  for (const auto* dropped : {&audit.dropped, &slice.dropped})
    for (const Audit::Part& part : *dropped)
      if (part.contributor == contributor) all.push_back({part.step, part.step + 1});
  std::ranges::sort(all, {}, &Steps::first);
  return all;
}

// The gaps between the decided steps, within `all`.
std::vector<Steps> undecided(const std::vector<Steps>& decided, Steps all) {
  std::vector<Steps> gaps;
  for (const Steps& steps : decided) {
    if (steps.first > all.first) gaps.push_back({all.first, std::min(steps.first, all.end)});
    all.first = std::max(all.first, steps.end);
  }
  if (all.first < all.end) gaps.push_back(all);
  std::erase_if(gaps, [](const Steps& gap) { return gap.first >= gap.end; });
  return gaps;
}

std::string named(const Steps& steps) {
  return steps.end - steps.first == 1 ? fmt::format("step {}", steps.first)
                                      : fmt::format("steps {} to {}", steps.first, steps.end - 1);
}

} // namespace

void account_for_steps(Audit& audit, const run::KeptLedger& kept, plugin::Registry& registry, const Claim* until) {
  const config::Job& job = kept.job;
  const auto plugins = plan::ExchangePlugins::make(job, registry);
  if (!plugins.ok()) {
    audit.open.push_back(concat("whether each step is in a version: ", plugins.status().message()));
    return;
  }
  const plan::Declared& declared = plugins->declared();
  if (declared.job().first.update_locally) return; // a contribution contains several steps
  const bool may_drop = declared.any(&Consistency::Traits::may_drop);
  for (const Audit::Slice& slice : audit.slices)
    for (std::size_t worker = 0; worker < std::min(audit.contributors, slice.steps.size()); ++worker) {
      const plan::Place place = plan::Place::at(job, static_cast<std::uint32_t>(worker));
      if (!param::holds(slice.holders, place.rank)) continue;
      if (place.server_group != slice.server / static_cast<std::uint32_t>(job.topology.servers_per_group)) continue;
      const auto in = decided(audit, slice, worker);
      Steps all{slice.steps[worker], in.empty() ? 0 : in.back().end};
      const bool known = until && worker < until->heads.steps.size();
      if (known) all.end = std::max(all.end, until->heads.steps[worker]);
      for (const Steps& gap : undecided(in, all)) {
        const bool is_last = known && gap.end == all.end;
        const auto by = [&] {
          if (!is_last) return std::string();
          if (until->of_job)
            return fmt::format(": {} says {} steps, and the summary is missing", until->by, until->step);
          return concat(": its handler held it where ", until->by, " was written");
        };
        const auto file = [&] {
          return until && until->of_job && !audit.attempts.empty()
                     ? param::Ledger::file_in(run::attempt_in(kept.folder, audit.attempts.back()), slice.server) + ": "
                     : std::string();
        };
        (may_drop ? audit.open : audit.faults)
            .push_back(fmt::format("{}{} of worker {} {} in no version of slice {} ({}), and {} not dropped{}", file(),
                                   named(gap), worker, gap.end - gap.first == 1 ? "is" : "are", slice.id, slice.param,
                                   gap.end - gap.first == 1 ? "was" : "were", by()));
      }
    }
}

} // namespace dlhost::tools
