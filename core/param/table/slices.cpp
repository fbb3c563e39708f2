#include "param/table/slices.h"

#include <algorithm>
#include <numeric>

namespace dlhost::param {
namespace {

constexpr std::int64_t line = 16; // elements of a cache line: no two owners write into one

} // namespace

Slices Slices::cut(std::span<const std::int64_t> elements, std::uint32_t servers, std::int64_t threshold,
                   std::span<const std::int64_t> pieces, std::int64_t most) {
  Slices cut;
  std::vector<std::int64_t> load(servers);
  std::vector<SliceId> whole;
  for (std::size_t p = 0; p < elements.size(); ++p) {
    cut.first_.push_back(cut.slices_.size());
    if (elements[p] == 0) continue;
    const std::int64_t unit = pieces.empty() ? line : std::lcm(line, pieces[p]);
    const std::int64_t units = (elements[p] + unit - 1) / unit;
    const std::int64_t each = most == 0 ? 1 : (elements[p] + most * servers - 1) / (most * servers); // slices
    const std::int64_t count = std::min(servers * each, units);
    const bool cuts = count > 1 && elements[p] >= std::max(threshold, unit * servers);
    for (std::int64_t s = 0; s < (cuts ? count : 1); ++s) {
      const auto begin = cuts ? units * s / count * unit : 0;
      const auto end = cuts ? std::min(units * (s + 1) / count * unit, elements[p]) : elements[p];
      const auto id = static_cast<SliceId>(cut.slices_.size());
      const auto server = static_cast<std::uint32_t>(cuts ? s * servers / count : 0);
      cut.slices_.push_back({id, static_cast<std::uint32_t>(p), server, begin, end - begin});
      if (cuts)
        load[server] += end - begin;
      else
        whole.push_back(id);
    }
  }
  cut.first_.push_back(cut.slices_.size());
  std::ranges::stable_sort(whole, std::greater<>{}, [&](SliceId id) { return cut.slices_[id].count; });
  for (const SliceId id : whole) {
    const auto least = std::ranges::min_element(load);
    *least += cut.slices_[id].count;
    cut.slices_[id].server = static_cast<std::uint32_t>(least - load.begin());
  }
  return cut;
}

std::span<const Slice> Slices::of(std::size_t param) const {
  return std::span(slices_).subspan(first_[param], first_[param + 1] - first_[param]);
}

} // namespace dlhost::param
