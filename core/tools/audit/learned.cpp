// Computes which changes of other server groups a version of a slice contains.
#include <algorithm>

#include "tools/audit/audit.h"

namespace dlhost::tools {
namespace {

using Exchanges = Audit::Exchanges;

// One slice in all server groups, in one attempt of the run.
class Attempt {
 public:
  Attempt(std::vector<const Audit::Slice*> slices, std::size_t time)
      : slices_(std::move(slices)), time_(time), learned_(slices_.size()) {
    for (std::size_t group = 0; group < slices_.size(); ++group)
      if (const Exchanges* of = exchanges(group)) learned_[group] = of->begun;
  }

  std::vector<Version> learned(std::size_t group, Version version) {
    const Exchanges* own = exchanges(group);
    if (!own) return learned_;
    if (own->summed) return std::vector<Version>(slices_.size(), version);
    const auto last = [&](const auto& records) {
      return std::ranges::find_if(records.rbegin(), records.rend(),
                                  [&](const auto& record) { return record.version <= version; });
    };
    if (const auto exchanged = last(own->exchanged); exchanged != own->exchanged.rend()) hear_all(exchanged->number);
    if (const auto heard = last(own->heard); heard != own->heard.rend()) {
      hear(group, heard->heard);
      hear_of_lost(heard->outlived);
    }
    return learned_;
  }

 private:
  const Exchanges* exchanges(std::size_t group) const {
    const auto& all = slices_[group]->exchanges;
    const auto found = std::ranges::find(all, time_, &Exchanges::time);
    return found == all.end() ? nullptr : &*found;
  }
  // Takes all exchanges up to this number, of all groups. An exchange that a group has not recorded is not counted.
  void hear_all(std::uint64_t number) {
    for (std::size_t group = 0; group < slices_.size(); ++group)
      if (const Exchanges* of = exchanges(group))
        for (const auto& record : of->exchanged)
          if (record.number <= number) learned_[group] = std::max(learned_[group], record.learned);
  }
  // Takes the parts that were sent to group `to`, and the parts that these contain. `links` bounds the recursion: the
  // graph of gossip has no cycles, but a file may be wrong.
  void hear(std::size_t to, const std::vector<param::Ledger::Heard>& heard, std::size_t links = 0) {
    if (++links >= slices_.size()) return;
    for (const auto& [from, parts] : heard) {
      const Exchanges* of = from < slices_.size() ? exchanges(from) : nullptr;
      if (!of) continue;
      const auto told = std::ranges::find_if(
          of->told, [&, parts = parts](const auto& record) { return record.to == to && record.part == parts; });
      if (told == of->told.end()) continue;
      learned_[from] = std::max(learned_[from], told->learned);
      hear(from, told->heard, links);
      hear_of_lost(told->outlived);
    }
  }
  // Takes the changes of lost groups, as the other groups have recorded them.
  void hear_of_lost(const std::vector<param::Ledger::Outlived>& outlived) {
    for (const auto& [group, version] : outlived)
      if (group < learned_.size()) learned_[group] = std::max(learned_[group], version);
  }

  const std::vector<const Audit::Slice*> slices_;
  const std::size_t time_;
  std::vector<Version> learned_; // of each group
};

} // namespace

std::vector<Version> Audit::learned(const Slice& slice, Version version) const {
  std::vector<const Slice*> groups; // in the order of server groups
  for (const Slice& one : slices)
    if (one.id == slice.id) groups.push_back(&one);
  const auto own = static_cast<std::size_t>(std::ranges::find(groups, &slice) - groups.begin());
  // The last attempt that began with this version or an earlier one. All groups had the same values when it began.
  const auto last = std::ranges::find_if(slice.exchanges.rbegin(), slice.exchanges.rend(),
                                         [&](const Exchanges& one) { return one.begun <= version; });
  const std::size_t time = last == slice.exchanges.rend() ? 0 : last->time;
  std::vector<Version> learned = Attempt(std::move(groups), time).learned(own, version);
  learned[own] = version;
  return learned;
}

} // namespace dlhost::tools
