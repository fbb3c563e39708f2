#include "tools/audit/audit.h"

#include <algorithm>

#include <fmt/format.h>

namespace dlhost::tools {
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

// Reports slices that two servers of a group own in the same attempt.
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

void look_through(Audit& audit, std::int64_t servers_per_group) {
  std::ranges::stable_sort(audit.slices, {}, &Audit::Slice::id); // one server group after another
  std::ranges::sort(audit.dropped);                              // each is reported by all servers of a group
  audit.dropped.erase(std::unique(audit.dropped.begin(), audit.dropped.end()), audit.dropped.end());
  look_for_doubles(audit);
  look_for_second_owners(audit, static_cast<std::uint32_t>(servers_per_group));
}

Status verdict(std::span<const std::string> faults) {
  if (faults.empty()) return {};
  constexpr std::size_t most = 20;
  std::string text = concat(faults.size(), faults.size() == 1 ? " fault:" : " faults:");
  for (std::size_t i = 0; i < std::min(most, faults.size()); ++i) text += "\n  " + faults[i];
  if (faults.size() > most) text += concat("\n  and ", faults.size() - most, " more");
  return Status::corrupt(text);
}

} // namespace dlhost::tools
