// How the masters of a net are cut into slices, and which server owns each: a pure function of sizes and counts, so
// that everyone who knows the net agrees without a word.
//
// A slice is a contiguous piece of a master as it lies, padding included. Small params stay whole: below the threshold
// a second message costs more than what two owners save.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dlhost/message.h>

namespace dlhost::param {

struct Slice {
  SliceId id = 0;
  std::uint32_t param = 0;  // by its place in the store
  std::uint32_t server = 0; // of the group
  std::int64_t first = 0, count = 0;
};

class Slices {
 public:
  // `elements`: of each master as it lies; none: it takes no part. Params of `threshold` elements and more are cut into
  // a piece for each server, between two of the `pieces` of so many elements that belong together; the others go, the
  // largest first, to the server that has least. `most`: a server has several slices of a param whose part for it has
  // more elements; 0: as many as there are.
  static Slices cut(std::span<const std::int64_t> elements, std::uint32_t servers, std::int64_t threshold,
                    std::span<const std::int64_t> pieces = {}, std::int64_t most = 0);

  std::span<const Slice> all() const { return slices_; }
  std::span<const Slice> of(std::size_t param) const;
  const Slice& operator[](SliceId id) const { return slices_[id]; }
  std::size_t size() const { return slices_.size(); }

 private:
  std::vector<Slice> slices_;      // by param, then by first element
  std::vector<std::size_t> first_; // of each param; one more behind the last
};

} // namespace dlhost::param
