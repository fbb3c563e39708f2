#include "param/table/slices.h"

#include <algorithm>
#include <numeric>

namespace dlhost::param {
namespace {

constexpr std::int64_t line = 16; // elements of a cache line, so that two owners never write into one line

} // namespace

Slices Slices::cut(std::span<const std::int64_t> elements, std::uint32_t servers, std::int64_t threshold,
                   std::span<const std::int64_t> pieces, std::int64_t most, const Parts& parts) {
  Slices cut;
  std::vector<std::int64_t> load(servers);
  std::vector<SliceId> whole;
  const auto add = [&](std::size_t param, std::size_t part, std::int64_t first, std::int64_t count,
                       std::int64_t server) {
    const auto id = static_cast<SliceId>(cut.slices_.size());
    cut.slices_.push_back({id, static_cast<std::uint32_t>(param), static_cast<std::uint32_t>(server), first, count,
                           static_cast<std::uint32_t>(part)});
    return id;
  };
  for (std::size_t p = 0; p < elements.size(); ++p) {
    cut.first_.push_back(cut.slices_.size());
    if (elements[p] == 0) continue;
    const bool in_parts = !parts.empty() && !parts[p].empty();
    const std::vector<Part> all = in_parts ? parts[p] : std::vector<Part>{{.count = elements[p]}};
    const std::int64_t unit = pieces.empty() ? line : std::lcm(line, pieces[p]);
    for (std::size_t number = 0; number < all.size(); ++number) {
      const Part& part = all[number];
      if (part.owner) {
        add(p, number, part.first, part.count, *part.owner);
        load[*part.owner] += part.count;
        continue;
      }
      const std::int64_t units = (part.count + unit - 1) / unit;
      const std::int64_t each = most == 0 ? 1 : (part.count + most * servers - 1) / (most * servers); // per server
      const std::int64_t count = std::min(servers * each, units);
      if (count <= 1 || part.count < std::max(threshold, unit * servers)) {
        whole.push_back(add(p, number, part.first, part.count, 0));
        continue;
      }
      for (std::int64_t s = 0; s < count; ++s) {
        const auto begin = units * s / count * unit, end = std::min(units * (s + 1) / count * unit, part.count);
        add(p, number, part.first + begin, end - begin, s * servers / count);
        load[static_cast<std::size_t>(s * servers / count)] += end - begin;
      }
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
