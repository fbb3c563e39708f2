// Cuts the masters of a net into slices and assigns each slice to a server. It is a pure function of sizes and counts,
// so processes with the same net agree without messages.
//
// A slice is a contiguous piece of a master in its layout, padding included. Small params stay whole: below the
// threshold a second message costs more than two owners save.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <dlhost/message.h>

namespace dlhost::param {

struct Slice {
  SliceId id = 0;
  std::uint32_t param = 0;  // index in the store
  std::uint32_t server = 0; // within the group
  std::int64_t first = 0, count = 0;
  std::uint32_t part = 0; // of the param, to which it belongs (param/store/param_part.h)
};

class Slices {
 public:
  // `elements`: of each master in its layout; 0: the param takes no part. Params of at least `threshold` elements are
  // cut into a piece for each server, at multiples of the param's `pieces` elements. The others go to the server with
  // the least load, the largest first. `most`: a server's part of a param is cut into several slices if it has more
  // elements; 0: no limit. `parts`: by param, ranges that are cut each by itself; a part with an owner stays whole,
  // with that server. Empty: a param is one part.
  struct Part {
    std::int64_t first = 0, count = 0;
    std::optional<std::uint32_t> owner;
  };
  using Parts = std::vector<std::vector<Part>>;
  static Slices cut(std::span<const std::int64_t> elements, std::uint32_t servers, std::int64_t threshold,
                    std::span<const std::int64_t> pieces = {}, std::int64_t most = 0, const Parts& parts = {});

  std::span<const Slice> all() const { return slices_; }
  std::span<const Slice> of(std::size_t param) const;
  const Slice& operator[](SliceId id) const { return slices_[id]; }
  std::size_t size() const { return slices_.size(); }

 private:
  std::vector<Slice> slices_;      // by param, then by first element
  std::vector<std::size_t> first_; // index of each param's first slice, and one entry after the last
};

} // namespace dlhost::param
