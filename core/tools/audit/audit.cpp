#include "run/audit.h"

#include <algorithm>

#include <fmt/format.h>

#include "run/audit_reader.h"

namespace dlhost::run {
namespace {

void look_for_doubles(Audit& audit) {
  for (const auto& slice : audit.slices) {
    std::vector<std::uint64_t> next(audit.contributors);
    for (const auto& word : slice.words)
      for (const Audit::Part& part : word.parts) {
        if (part.step < next[part.contributor])
          audit.faults.push_back(fmt::format("step {} of worker {} counts twice in slice {} ({}), again in version {}",
                                             part.step, part.contributor, slice.id, slice.param, word.first));
        next[part.contributor] = std::max(next[part.contributor], part.step + std::max<std::uint64_t>(word.count, 1));
      }
  }
}

// In a server group a slice has one, for as long as the run goes on from where it began.
void look_for_second_owners(Audit& audit, std::uint32_t servers_per_group) {
  for (std::size_t i = 1; i < audit.slices.size(); ++i)
    for (std::size_t j = i; j-- > 0 && audit.slices[j].id == audit.slices[i].id;) {
      const Audit::Slice &one = audit.slices[j], &other = audit.slices[i];
      const std::uint32_t group = one.server / servers_per_group;
      if (other.server / servers_per_group != group) continue;
      for (const Audit::Exchanges& begun : one.exchanges)
        if (std::ranges::find(other.exchanges, begun.time, &Audit::Exchanges::time) != other.exchanges.end())
          audit.faults.push_back(fmt::format("servers {} and {} of server group {} both have slice {} ({}) in begun-{}",
                                             one.server, other.server, group, one.id, one.param, begun.time));
    }
}

} // namespace

std::vector<Audit::Part> Audit::Slice::parts_of(Version version) const {
  std::vector<Audit::Part> parts;
  for (auto word = std::ranges::upper_bound(words, version, {}, &Word::first); word != words.begin();) {
    --word;
    if (version >= word->first + std::max<std::uint64_t>(word->count, 1)) break;
    for (Audit::Part part : word->parts) parts.push_back({part.contributor, part.step + version - word->first});
    if (word->count > 0) break;
  }
  return parts;
}

std::uint64_t Audit::contributions(const Slice& slice, std::size_t contributor) {
  std::uint64_t count = 0;
  for (const Word& word : slice.words)
    count += static_cast<std::uint64_t>(std::ranges::count(word.parts, contributor, &Audit::Part::contributor)) *
             std::max<std::uint64_t>(word.count, 1);
  return count;
}

std::uint64_t Audit::dropped_from(const Slice& slice, std::size_t contributor) const {
  return static_cast<std::uint64_t>(std::ranges::count(dropped, contributor, &Audit::Part::contributor) +
                                    std::ranges::count(slice.dropped, contributor, &Audit::Part::contributor));
}

Result<Audit> audit(Disk& disk, const std::string& folder, const record::LedgerOf& of, std::int64_t servers_per_group) {
  DLHOST_ASSIGN(auto audit, read_ledger(disk, folder, of));
  if (audit.contributors == 0 && audit.faults.empty())
    return Status::not_found(
        "'", folder,
        "' holds no ledger: one worker alone keeps none (each step's samples make each version), nor do several whose "
        "devices sum gradients (topology.device_copies = \"none\"), or with record.ledger = false");
  std::ranges::stable_sort(audit.slices, {}, &Audit::Slice::id); // of server groups one after another
  std::ranges::sort(audit.dropped);                              // all servers of a group hear of each
  audit.dropped.erase(std::unique(audit.dropped.begin(), audit.dropped.end()), audit.dropped.end());
  look_for_doubles(audit);
  look_for_second_owners(audit, static_cast<std::uint32_t>(servers_per_group));
  return audit;
}

Status verdict(std::span<const std::string> faults) {
  if (faults.empty()) return {};
  constexpr std::size_t most = 20;
  std::string text = concat(faults.size(), " faults:");
  for (std::size_t i = 0; i < std::min(most, faults.size()); ++i) text += "\n  " + faults[i];
  if (faults.size() > most) text += concat("\n  and ", faults.size() - most, " more");
  return Status::corrupt(text);
}

} // namespace dlhost::run
