// Where the workers of a run begin, the first time or once more: a point at which all that was sent had been dealt
// with, so that nothing is lost and nothing counts twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/message.h>

#include "param/table/sample_origin.h"
#include "record/ledger_head.h"

namespace dlhost::param {

// A server group with new processes, in a run that continued without the old ones.
struct Joining {
  std::uint32_t number = 0;        // sequence number among such groups, from 1
  std::uint64_t times_aligned = 0; // so far
  std::vector<std::uint32_t> lost; // server groups whose processes were gone then, and others' have not joined yet
};

struct StartPoint {
  // Of a slice that is further, or less far, than others.
  struct OfSlice {
    Version version = 0;
    std::vector<std::uint64_t> steps; // of each worker, which are in it
    std::vector<Version> others;      // of the same slice in the server groups behind the first
  };
  Version version = 0;               // of every slice, but where `slices` says otherwise: then of the furthest
  std::vector<OfSlice> slices;       // all of them, or none
  std::vector<Version> others;       // where there are several server groups: in those behind the first
  std::vector<std::uint64_t> steps;  // done by each worker, all of which are in that version
  std::vector<SampleOrigin> origins; // of each source; none: steps are counted from the data's beginning
  std::string ledger;                // the folder in which servers write down what follows; empty: they do not
  record::LedgerOf ledger_of;        // what that is of
  std::optional<Joining> joining;    // the others have begun before
  bool own_values = false;           // what workers keep for themselves is there; else they begin with the servers'
                                     // values, and their codecs have left out nothing

  Version version_of(SliceId slice) const { return slices.empty() ? version : slices[slice].version; }
  Version version_of(SliceId slice, std::size_t server_group) const {
    if (server_group == 0) return version_of(slice);
    return (slices.empty() ? others : slices[slice].others).at(server_group - 1);
  }
  const std::vector<std::uint64_t>& steps_of(SliceId slice) const {
    return slices.empty() ? steps : slices[slice].steps;
  }

  // What it says of all slices, it says of each.
  void tell_each(std::size_t count) {
    if (slices.empty()) slices.assign(count, {.version = version, .steps = steps, .others = others});
  }

  // `version` and `others` are those of the slices; where all of these are alike, they are not told one by one.
  void sum_up() {
    for (const OfSlice& slice : slices) {
      version = std::max(version, slice.version);
      for (std::size_t other = 0; other < others.size(); ++other)
        others[other] = std::max(others[other], slice.others[other]);
    }
    const auto alike = [&](const OfSlice& slice) {
      return slice.version == version && slice.steps == steps && slice.others == others;
    };
    if (std::ranges::all_of(slices, alike)) slices.clear();
  }

  // The same for the workers of a server group.
  StartPoint seen_by(std::size_t server_group) const {
    StartPoint seen = *this;
    if (server_group == 0) return seen;
    seen.version = others.at(server_group - 1);
    for (OfSlice& slice : seen.slices) slice.version = slice.others.at(server_group - 1);
    return seen;
  }
  // Where whole steps are chosen, of all slices alike: steps of a group below this one are in, or make no version.
  std::uint64_t decided(std::size_t group, std::size_t workers) const {
    return least_of(slices.empty() ? steps : slices.front().steps, group, workers);
  }
  // Where a group goes on: what some of its workers had done already is computed again, and counts once.
  std::uint64_t of_group(std::size_t group, std::size_t workers) const { return least_of(steps, group, workers); }

 private:
  static std::uint64_t least_of(const std::vector<std::uint64_t>& steps, std::size_t group, std::size_t workers) {
    const auto first = steps.begin() + static_cast<std::ptrdiff_t>(group * workers);
    return *std::min_element(first, first + static_cast<std::ptrdiff_t>(workers));
  }
};

} // namespace dlhost::param
