// Whether each step that a worker made came to something, in each slice that it contributes to.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "run/audit_held.h"
#include "run/session/agreement.h"
#include "run/worker/place.h"

namespace dlhost::run {
namespace {

struct Steps {
  std::uint64_t first = 0, end = 0;
};

// Of a contributor, by their first: what is in a slice, and what was dropped from it.
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

// Those between, of the steps from the first on.
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

void account_for_steps(Audit& audit, const KeptLedger& kept, plugin::Registry& registry, const Claim* until) {
  const config::Job& job = kept.job;
  const auto agreement = Agreement::make(job, registry);
  if (!agreement.ok()) {
    audit.open.push_back(concat("whether each step came to something: ", agreement.status().message()));
    return;
  }
  if (agreement->job().first.update_locally) return; // a contribution is of several steps
  const bool may_drop = agreement->any(&Consistency::Traits::may_drop);
  for (const Audit::Slice& slice : audit.slices)
    for (std::size_t worker = 0; worker < std::min(audit.contributors, slice.steps.size()); ++worker) {
      const Place place = Place::at(job, static_cast<std::uint32_t>(worker), false);
      if (place.server_group != slice.server / static_cast<std::uint32_t>(job.topology.servers_per_group)) continue;
      const auto in = decided(audit, slice, worker);
      Steps all{slice.steps[worker], in.empty() ? 0 : in.back().end};
      const bool known = until && worker < until->heads.steps.size();
      if (known) all.end = std::max(all.end, until->heads.steps[worker]);
      for (const Steps& gap : undecided(in, all)) {
        const bool is_last = known && gap.end == all.end;
        (may_drop ? audit.open : audit.faults)
            .push_back(fmt::format("{} of worker {} {} in no version of slice {} ({}), and {} not dropped{}",
                                   named(gap), worker, gap.end - gap.first == 1 ? "is" : "are", slice.id, slice.param,
                                   gap.end - gap.first == 1 ? "was" : "were",
                                   is_last ? concat(": its handler held it where ", until->by, " was written")
                                           : std::string()));
      }
    }
}

} // namespace dlhost::run
