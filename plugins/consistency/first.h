// The first contributions to a version make it; late ones do not. The contributors are chosen for whole steps: if
// slices chose separately, two waiting workers could each wait for a param that only the other can complete.
#pragma once

#include <algorithm>

#include <dlhost/consistency.h>

namespace dlhost::plugins {

class First : public Consistency {
 public:
  Traits traits() const override {
    return {.joint = true, .by_step = true, .readers_overlap = true, .staleness = ~std::uint64_t{0}, .may_drop = true};
  }
  WorkerPlan plan(std::uint64_t step, Version have) const override { return {.at_least = step == 0 ? 0 : have + 1}; }

  GetVerdict on_get(const SliceState& slice, std::uint16_t, std::uint16_t, Version at_least) override {
    return slice.version >= at_least ? GetVerdict::serve : GetVerdict::wait;
  }
  UpdateVerdict on_update(SliceState& slice, const Contribution& contribution) override {
    if (contribution.based_on < slice.version) return {.act = UpdateVerdict::Act::drop};
    return with(slice, slice.held.size() + 1);
  }
  UpdateVerdict on_member(SliceState& slice) override { return with(slice, slice.held.size()); }

 protected:
  // The number of contributions for a version.
  virtual std::size_t wanted(const SliceState&) const = 0;
  // The verdict when they have arrived, with the folded ones: their sum is scaled to the expected number of
  // contributions.
  virtual UpdateVerdict made_of(const SliceState& slice, float count) const {
    return {.act = UpdateVerdict::Act::combine, .weight = static_cast<float>(slice.expected) / count};
  }
  UpdateVerdict with(const SliceState& slice, std::size_t count) const {
    if (count == 0 || count < std::clamp<std::size_t>(wanted(slice), 1, slice.contributors))
      return {.act = UpdateVerdict::Act::hold};
    return made_of(slice, static_cast<float>(count) + slice.folded);
  }
};

} // namespace dlhost::plugins
