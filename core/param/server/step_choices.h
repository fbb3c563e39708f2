// The chooser's decisions about whole steps (chooser.h), as a server has heard them: which contributions make each
// version of all slices, and which steps came too late.
//
// A decision may arrive before or after the updates that it is about.
//
// Thread: the server's. Does not allocate after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <dlhost/consistency.h>

#include "param/message/protocol.h"
#include "param/server/contributors.h"

namespace dlhost::param {

class StepChoices {
 public:
  explicit StepChoices(std::size_t contributors);

  // The contributions that make one version of all slices.
  struct Choice {
    Version version = 0;
    float weight = 1, rate_factor = 1;
    std::size_t count = 0;
    std::vector<std::pair<std::size_t, std::uint64_t>> members; // contributors and their steps, received so far

    bool is_whole() const { return count > 0 && members.size() == count; }
    bool has(const Received&) const;
    UpdateVerdict verdict() const { return {.weight = weight, .rate_factor = rate_factor}; }
  };
  // Returns true if the choice of its version is whole now.
  // Errors: corrupt if the number of contributions cannot be.
  Result<bool> choose(const to_server::Chosen&, std::size_t contributor);
  // The choice for a version. Null: it is not whole.
  const Choice* of(Version) const;

  // The contributor's steps below this one make no version any more.
  void forget(std::size_t contributor, std::uint64_t steps);
  // The same; they are folded in with this weight if they arrive. 0: they are dropped.
  void forget(std::size_t contributor, std::uint64_t steps, float weight);
  std::uint64_t forgotten(std::size_t contributor) const { return forgotten_[contributor]; }
  bool is_late(std::size_t contributor, std::uint64_t step) const { return step < forgotten_[contributor]; }
  float late_weight(std::size_t contributor) const { return late_weights_[contributor]; }

 private:
  static constexpr std::size_t ahead = 64; // of the slice with the lowest version

  std::vector<Choice> choices_;          // a ring, by version
  std::vector<std::uint64_t> forgotten_; // per contributor
  std::vector<float> late_weights_;      // per contributor: the weight of the last forgotten step
};

} // namespace dlhost::param
