// The workers that contribute to one slice: of each group those that hold its param.
//
// A worker's index is its index among all contributors (contributors.h). Its place is its index among those of the
// slice, in the same order. Thread: the server's. Does not allocate after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "param/server/contributors.h"
#include "param/store/param_part.h"

namespace dlhost::param {

class SliceContributors {
 public:
  // `all` outlives it.
  SliceContributors(const Contributors& all, const Holders&);

  const Contributors& all() const { return all_; }
  std::size_t size() const { return indices_.size(); }
  std::span<const std::size_t> indices() const { return indices_; }
  bool has(std::size_t index) const { return places_[index] != none; }
  // Requires: has().
  std::size_t place_of(std::size_t index) const { return places_[index]; }
  std::uint32_t makers() const; // those that still make steps

  // Errors: corrupt if the worker that a message names does not contribute to the slice.
  Result<std::size_t> index_of(WorkerId, SliceId) const;
  // Sets the numbers of the group's workers that do not contribute to the least of those that do. `numbers`: by index.
  void tell_others(std::uint16_t group, std::span<std::uint64_t> numbers) const;

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  const Contributors& all_;
  std::vector<std::size_t> indices_;
  std::vector<std::size_t> places_; // by index
};

} // namespace dlhost::param
