#include "tools/audit/held.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "plan/place.h"
#include "tools/audit/job_held.h"

namespace dlhost::tools {
namespace {

class Held {
 public:
  Held(Audit& audit, const run::KeptLedger& kept, const Claims& claims) : audit_(audit), kept_(kept), claims_(claims) {}

  void look() {
    look_for_names();
    look_for_attempts();
    look_for_heads();
    look_for_servers();
  }

 private:
  using Which = std::pair<std::uint64_t, std::uint32_t>; // attempt and server
  struct Named {
    const Claim* claim;
    record::LedgerHead head;
  };

  std::uint32_t servers() const {
    return static_cast<std::uint32_t>(kept_.job.topology.server_groups * kept_.job.topology.servers_per_group);
  }
  std::string path_of(const Which& which) const {
    return param::Ledger::file_in(run::attempt_in(kept_.folder, which.first), which.second);
  }
  const Audit::File* file_of(const Which& which) const {
    const auto found = std::ranges::find_if(
        audit_.files, [&](const Audit::File& file) { return Which(file.attempt, file.server) == which; });
    return found == audit_.files.end() ? nullptr : &*found;
  }
  template <class... Arguments> void fault(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    audit_.faults.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  void look_for_names() {
    for (const Claim& claim : claims_.all) {
      if (claim.heads.run != kept_.of.run) {
        fault("{} names ledgers of run {}, and those in {} are of run {}", claim.by, claim.heads.run, kept_.folder,
              kept_.of.run);
        continue;
      }
      for (const record::LedgerHead& head : claim.heads.all)
        if (head.arrangement == kept_.of.arrangement)
          named_[{head.attempt, head.server}].push_back({.claim = &claim, .head = head});
    }
  }

  void look_for_attempts() {
    std::uint64_t due = 1;
    for (const std::uint64_t attempt : audit_.attempts) {
      for (; due < attempt; ++due)
        fault("{} is missing: attempt {} followed it", run::attempt_in(kept_.folder, due), attempt);
      ++due;
    }
  }

  // Checks for each file the claim with the most lines first, and reports only the first mismatch.
  void look_for_heads() {
    for (auto& [which, all] : named_) {
      std::ranges::stable_sort(all, std::greater<>{}, [](const Named& named) { return named.head.lines; });
      const Audit::File* file = file_of(which);
      if (!file) {
        fault(
            "{} is missing: {} names its first {} lines; each server's ledger lies on its own machine, bring all into "
            "this folder",
            path_of(which), all.front().claim->by, all.front().head.lines);
        continue;
      }
      if (!file->whole) continue; // already reported
      for (const auto& [claim, head] : all) {
        const bool there = head.lines <= file->chain.size();
        if (there && file->chain[head.lines - 1] == head.chain) continue;
        if (there)
          fault("{}:{}: {} names another line there: the lines up to it were changed", file->path, head.lines,
                claim->by);
        else
          fault("{}: it ends with line {}, and {} names its first {}: lines are missing at its end", file->path,
                file->chain.size(), claim->by, head.lines);
        break;
      }
    }
  }

  void look_for_servers() {
    for (const Audit::File& file : audit_.files)
      if (file.server >= servers()) fault("{} is of server {}, and the job has {}", file.path, file.server, servers());
    for (const std::uint64_t attempt : audit_.attempts) {
      // The first step follows when all servers have written their first line. Only a group behind the first may be
      // lost before that, and the others go on.
      const auto stepped = std::ranges::find_if(
          audit_.files, [&](const Audit::File& file) { return file.attempt == attempt && file.chain.size() > 1; });
      for (std::uint32_t server = 0; server < servers(); ++server) {
        const Which which(attempt, server);
        if (file_of(which) || named_.contains(which)) continue;
        if (stepped != audit_.files.end() && server < kept_.job.topology.servers_per_group)
          fault("{} is missing: the run has {} servers ({}), and {} has versions of this attempt", path_of(which),
                servers(), run::arrangement_in(kept_.folder), stepped->path);
        else if (claims_.lost)
          fault("{} is missing: the run has {} servers ({})", path_of(which), servers(),
                run::arrangement_in(kept_.folder));
        else
          audit_.open.push_back(fmt::format(
              "{} does not exist, and no checkpoint names it: the server died before it wrote, or the file was removed",
              path_of(which)));
      }
    }
  }

  Audit& audit_;
  const run::KeptLedger& kept_;
  const Claims& claims_;
  std::map<Which, std::vector<Named>> named_;
};

// Checks that each server group has all slices, and that the slices cover each param without gaps.
void look_for_slices(Audit& audit, const run::KeptLedger& kept) {
  const auto per_group = static_cast<std::uint32_t>(kept.job.topology.servers_per_group);
  std::map<std::uint32_t, std::vector<const Audit::Slice*>> groups; // slices by number
  for (const Audit::Slice& slice : audit.slices) groups[slice.server / per_group].push_back(&slice);
  for (const auto& [group, slices] : groups) {
    std::map<std::string, std::int64_t> elements;
    SliceId due = 0;
    for (const Audit::Slice* slice : slices) {
      const bool follows = slice->id == due++ && slice->first == elements[slice->param];
      elements[slice->param] = slice->first + slice->count;
      if (follows) continue;
      audit.faults.push_back(fmt::format("server group {} has slice {} ({}, from element {}) where another was due: "
                                         "its servers do not begin with all slices",
                                         group, slice->id, slice->param, slice->first));
      break;
    }
    if (slices.size() != groups.begin()->second.size())
      audit.faults.push_back(fmt::format("server group {} has {} slices, and server group {} has {}", group,
                                         slices.size(), groups.begin()->first, groups.begin()->second.size()));
  }
}

// The newest claim about this arrangement.
const Claim* newest_of(const Claims& claims, const run::KeptLedger& kept) {
  const auto found = std::ranges::find_if(claims.all.rbegin(), claims.all.rend(), [&](const Claim& claim) {
    return claim.heads.run == kept.of.run && claim.newest().arrangement == kept.of.arrangement;
  });
  return found == claims.all.rend() ? nullptr : &*found;
}

void look_for_origins(Audit& audit, const Claim* claim) {
  if (!claim || claim->origins.empty() || audit.attempts.empty() || claim->newest().attempt != audit.attempts.back())
    return;
  for (std::size_t source = 0; source < claim->origins.size(); ++source) {
    const param::SampleOrigin begun = source < audit.origins.size() ? audit.origins[source] : param::SampleOrigin();
    const param::SampleOrigin& saved = claim->origins[source];
    if (begun.step != saved.step || begun.epoch != saved.epoch || begun.index != saved.index)
      audit.faults.push_back(fmt::format(
          "{} counts the samples of source {} from another start than the ledger: the samples of a step are unknown",
          claim->by, source));
  }
}

// The newest checkpoint's seed counts, because a run can be resumed with another one.
void look_for_seed(Audit& audit, const run::KeptLedger& kept, const Claims& claims) {
  const auto newest = std::ranges::find_if(claims.all.rbegin(), claims.all.rend(),
                                           [](const Claim& claim) { return claim.seed.has_value(); });
  if (newest == claims.all.rend() || *newest->seed == kept.job.seed) return;
  audit.faults.push_back(fmt::format("{} is of seed {}, and the job of {}: the samples of a step are unknown",
                                     newest->by, *newest->seed, kept.job.seed));
}

} // namespace

std::vector<std::string> lost_arrangements(std::span<const run::KeptLedger> kept, const Claims& claims) {
  std::vector<std::string> faults;
  std::set<std::uint64_t> told;
  for (const Claim& claim : claims.all)
    for (const record::LedgerHead& head : claim.heads.all) {
      const bool is_there =
          std::ranges::any_of(kept, [&](const run::KeptLedger& one) { return one.of.arrangement == head.arrangement; });
      if (!is_there && told.insert(head.arrangement).second)
        faults.push_back(fmt::format("{} names ledgers of the run's arrangement {}, whose folder is missing", claim.by,
                                     head.arrangement));
    }
  return faults;
}

Result<Audit> held_audit(Disk& disk, plugin::Registry& registry, const run::KeptLedger& kept, const Claims& claims) {
  const bool contribute = plan::Place::contribute_to_servers(kept.job.topology);
  const bool named = (claims.lost && contribute) || std::ranges::any_of(claims.all, [&](const Claim& claim) {
                       return std::ranges::find(claim.heads.all, kept.of.arrangement,
                                                &record::LedgerHead::arrangement) != claim.heads.all.end();
                     });
  auto audit = tools::audit(disk, kept.folder, kept.of, kept.job.topology.servers_per_group);
  if (!audit.ok() && (!named || audit.status().code() != Code::not_found)) return audit;
  Audit held = audit.ok() ? *std::move(audit) : Audit();
  if (!audit.ok()) {
    DLHOST_ASSIGN(held.attempts, run::attempts_in(disk, kept.folder));
  }
  if (held.arranged && !held.files.empty() && !contribute) {
    held.arranged = false;
    held.faults.push_back(
        fmt::format("{} has no servers, and {} is of one", run::arrangement_in(kept.folder), held.files.front().path));
  }
  if (!held.arranged) return held;
  look_for_jobs(disk, kept.folder, held);
  Held(held, kept, claims).look();
  if (!held.faults.empty()) return held;              // other findings could follow from these
  if (held.open.empty()) look_for_slices(held, kept); // else a slice's server may not have begun
  if (held.job.empty()) look_for_seed(held, kept, claims);
  const Claim* newest = newest_of(claims, kept);
  if (!newest && claims.of_job && claims.newest == kept.of.arrangement) newest = &*claims.of_job;
  look_for_origins(held, newest);
  account_for_steps(held, kept, registry, newest);
  if (held.job.empty() && !held.files.empty())
    held.open.push_back(
        fmt::format("{} is of an older dlhost, which did not record the job: a change of the job or of {} "
                    "is not detected",
                    held.files.back().path, run::arrangement_in(kept.folder)));
  return held;
}

} // namespace dlhost::tools
