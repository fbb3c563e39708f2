#include "param/exchange/row_pool.h"

#include <algorithm>

#include "param/table/table_memory.h"

namespace dlhost::param {
namespace {

constexpr std::size_t least_bound = std::size_t{4} << 20;
constexpr std::int64_t section_line = 16;    // elements of a cache line
constexpr std::int64_t most_sections = 4096; // of all slices, beside the last of each: their numbers have 16 bits

std::size_t row_bytes(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); }

} // namespace

RowPlan RowPlan::of(std::span<const Slice* const> slices, const CodecUse& codec, std::size_t bound) {
  RowPlan plan;
  std::int64_t all = 0, largest = 0;
  for (const Slice* slice : slices) {
    all += slice->count;
    largest = std::max(largest, slice->count);
  }
  if (bound == 0) bound = std::max(least_bound, row_bytes(all) / 4);
  const bool is_encoded = std::ranges::any_of(slices, [&](const Slice* slice) { return codec.encodes(*slice); });
  plan.shared = 2 * row_bytes(all) > bound && !is_encoded;
  if (!plan.shared) return plan;
  const auto lines = static_cast<std::int64_t>(bound / least_places / (2 * row_bytes(section_line)));
  plan.longest = std::max(lines, all / (most_sections * section_line) + 1) * section_line;
  plan.longest = std::min(plan.longest, largest);
  std::size_t sections = 0;
  for (const Slice* slice : slices) sections += plan.cut(*slice).size();
  const std::size_t fit = bound / (2 * row_bytes(plan.longest));
  plan.places = std::clamp(fit, std::size_t{1}, sections);
  return plan;
}

std::vector<Slice> RowPlan::cut(const Slice& slice) const {
  if (!shared) return {slice};
  std::vector<Slice> sections;
  for (std::int64_t first = 0; first < slice.count; first += longest) {
    Slice& section = sections.emplace_back(slice);
    section.first += first;
    section.count = std::min(longest, slice.count - first);
  }
  return sections;
}

void RowPlan::add_bytes(std::size_t& end) const {
  for (std::size_t row = 0; row < 2 * places; ++row) take_lines(end, row_bytes(longest));
}

RowPool::RowPool(Neighbours& neighbours, const RowPlan& plan) {
  const Slice longest{.count = plan.longest};
  for (std::size_t place = 0; place < plan.places; ++place) {
    const auto begun = neighbours.row(longest);
    places_.push_back({.begun = begun, .made = neighbours.row(longest), .encoded = {}});
  }
  reset();
}

void RowPool::reset() {
  free_.clear();
  for (std::size_t place = places_.size(); place > 0; --place) free_.push_back(place - 1);
}

std::size_t RowPool::take() {
  const std::size_t place = free_.back();
  free_.pop_back();
  return place;
}

RowExchange::Rows RowPool::rows(std::size_t place, const Slice& section) const {
  const RowExchange::Rows& all = places_[place];
  const auto count = static_cast<std::size_t>(section.count);
  return {.begun = all.begun.first(count), .made = all.made.first(count), .encoded = {}};
}

} // namespace dlhost::param
