// What is in a slice of one server group of what the others have made of theirs.
#include <algorithm>

#include "tools/audit/audit.h"

namespace dlhost::tools {
namespace {

using Exchanges = Audit::Exchanges;

// The same slice in all server groups, since the run began for that time.
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
  // An exchange that all took part in. What one has not written down is not known to be in.
  void hear_all(std::uint64_t number) {
    for (std::size_t group = 0; group < slices_.size(); ++group)
      if (const Exchanges* of = exchanges(group))
        for (const auto& record : of->exchanged)
          if (record.number <= number) learned_[group] = std::max(learned_[group], record.learned);
  }
  // Parts that were told to `to`: each holds what its sender had learned, and what that one had heard. Groups that
  // gossip are a graph without loops, whatever a file says.
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
  // What such groups had learned, as the others found it.
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
  std::vector<const Slice*> groups; // as they are sorted
  for (const Slice& one : slices)
    if (one.id == slice.id) groups.push_back(&one);
  const auto own = static_cast<std::size_t>(std::ranges::find(groups, &slice) - groups.begin());
  // The last that began no later: all were one then.
  const auto last = std::ranges::find_if(slice.exchanges.rbegin(), slice.exchanges.rend(),
                                         [&](const Exchanges& one) { return one.begun <= version; });
  const std::size_t time = last == slice.exchanges.rend() ? 0 : last->time;
  std::vector<Version> learned = Attempt(std::move(groups), time).learned(own, version);
  learned[own] = version;
  return learned;
}

} // namespace dlhost::tools
