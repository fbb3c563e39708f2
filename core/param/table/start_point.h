// The point from which the workers of a run start, at first or again: one at which all sent messages had been
// processed, so that no contribution is lost and none counts twice.
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
  std::uint32_t number = 0;        // of these processes: they were started in this order, from 1
  std::uint32_t order = 0;         // of their admission: processes that began later may be admitted before, from 1
  std::uint64_t times_aligned = 0; // the number of alignments of the run so far
  std::vector<std::uint32_t> lost; // server groups that are lost now: no new processes have joined for them yet
};

struct StartPoint {
  // The state of one slice, if slices differ.
  struct OfSlice {
    Version version = 0;
    std::vector<std::uint64_t> steps; // per worker: the steps that are in the version
    std::vector<Version> others;      // its versions in the second and later server groups
  };
  Version version = 0;               // of every slice; if slices differ, the highest
  std::vector<OfSlice> slices;       // of every slice; empty: all slices are alike
  std::vector<Version> others;       // the versions in the second and later server groups
  std::vector<std::uint64_t> steps;  // per worker: the steps that it has made
  std::vector<SampleOrigin> origins; // per source; empty: steps are counted from the beginning of the data
  std::string ledger;                // the folder of the servers' ledgers; empty: there are none
  record::LedgerOf ledger_of;        // the run, arrangement and attempt of the ledgers
  std::optional<Joining> joining;    // set for a group that joins a run which others have continued
  bool own_values = false;           // true: the workers' own values and codec states exist; else workers start with
                                     // the servers' values, and codecs without errors to feed back

  Version version_of(SliceId slice) const { return slices.empty() ? version : slices[slice].version; }
  Version version_of(SliceId slice, std::size_t server_group) const {
    if (server_group == 0) return version_of(slice);
    return (slices.empty() ? others : slices[slice].others).at(server_group - 1);
  }
  const std::vector<std::uint64_t>& steps_of(SliceId slice) const {
    return slices.empty() ? steps : slices[slice].steps;
  }

  // Fills `slices`, if it is empty, with the state that all slices have.
  void tell_each(std::size_t count) {
    if (slices.empty()) slices.assign(count, {.version = version, .steps = steps, .others = others});
  }

  // Sets `version` and `others` to the highest of the slices. Empties `slices` if all are alike.
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

  // This point with the versions of a server group in place of the first group's, for the workers of that group.
  StartPoint seen_by(std::size_t server_group) const {
    StartPoint seen = *this;
    if (server_group == 0) return seen;
    seen.version = others.at(server_group - 1);
    for (OfSlice& slice : seen.slices) slice.version = slice.others.at(server_group - 1);
    return seen;
  }
  // All steps of a worker group below this one are in a version, or dropped. Requires: whole steps are chosen.
  std::uint64_t decided(std::size_t group, std::size_t workers) const {
    return least_of(slices.empty() ? steps : slices.front().steps, group, workers);
  }
  // The step at which a worker group continues. Some of its workers may have made later steps already: they make them
  // again, and servers count these once.
  std::uint64_t of_group(std::size_t group, std::size_t workers) const { return least_of(steps, group, workers); }

 private:
  static std::uint64_t least_of(const std::vector<std::uint64_t>& steps, std::size_t group, std::size_t workers) {
    const auto first = steps.begin() + static_cast<std::ptrdiff_t>(group * workers);
    return *std::min_element(first, first + static_cast<std::ptrdiff_t>(workers));
  }
};

} // namespace dlhost::param
