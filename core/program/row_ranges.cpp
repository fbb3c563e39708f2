#include "program/row_ranges.h"

#include <algorithm>
#include <limits>

namespace dlhost::program {

RowRanges::RowRanges(const std::vector<Unit>& units) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  for (const Unit& unit : units) {
    if (!unit.part.computes) continue;
    begin = std::min(begin, unit.part.first_row);
    end = std::max(end, unit.part.first_row + unit.part.rows);
  }
  if (begin > end) begin = end; // it computes nothing
  first_ = begin;
  rows_ = end - begin;
  for (const Unit& unit : units) {
    const Range range = unit.part.computes ? Range{unit.part.first_row - begin, unit.part.rows} : Range{};
    const auto known = std::ranges::find(all_, range);
    number_.push_back(static_cast<std::size_t>(known - all_.begin()));
    if (known == all_.end()) all_.push_back(range);
  }
}

} // namespace dlhost::program
