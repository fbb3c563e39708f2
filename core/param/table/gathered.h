// Params whose slices lie in several places, each brought together into one piece of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "param/table/slices.h"

namespace dlhost::param {

class Gathered {
 public:
  // The whole param. `where`: memory of a whole param in which the slice is valid. Copies only if these differ. The
  // result is valid until clear().
  std::span<std::byte> whole(const Slices& slices, std::size_t param,
                             const std::function<std::span<std::byte>(const Slice&)>& where) {
    const auto parts = slices.of(param);
    const std::span<std::byte> first = where(parts.front());
    if (std::ranges::all_of(parts, [&](const auto& part) { return where(part).data() == first.data(); })) return first;
    const std::span<std::byte> copy = copied(first);
    for (const auto& part : parts) {
      const auto bytes = where(part).subspan(static_cast<std::size_t>(part.first) * sizeof(float),
                                             static_cast<std::size_t>(part.count) * sizeof(float));
      std::ranges::copy(bytes, copy.begin() + part.first * static_cast<std::int64_t>(sizeof(float)));
    }
    return copy;
  }
  std::span<std::byte> copied(std::span<const std::byte> bytes) {
    return copies_.emplace_back(bytes.begin(), bytes.end());
  }
  std::vector<std::vector<std::byte>>& copies() { return copies_; }
  void clear() { copies_.clear(); }

 private:
  std::vector<std::vector<std::byte>> copies_; // the memory of each stays when more are added
};

} // namespace dlhost::param
