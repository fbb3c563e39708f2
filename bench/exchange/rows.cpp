#include "exchange/rows.h"

#include <algorithm>

#include "need.h"

namespace dlhost::bench {

std::vector<param::Slice> SlicedRow::cut(std::int64_t elements, std::int64_t slice) {
  const auto cut = param::Slices::cut(std::array{elements}, 1, 1, {}, slice);
  return {cut.all().begin(), cut.all().end()};
}

std::size_t SlicedRow::bytes(std::int64_t elements, std::int64_t slice) {
  std::size_t bytes = 0;
  for (const auto& one : cut(elements, slice)) param::RowExchange::add_bytes(one, bytes);
  return bytes;
}

SlicedRow::SlicedRow(const param::Neighbours& neighbours, const Sync& sync, std::int64_t elements, std::int64_t slice)
    : slices_(cut(elements, slice)), neighbours_(neighbours) {
  neighbours_.sync = &sync;
  for (const auto& one : slices_)
    rows_.push_back(need(param::RowExchange::join(neighbours_, one, param::RowExchange::rows(neighbours_, one))));
}

// Small numbers, whose sum is exact whatever the order.
float SlicedRow::value(const param::Slice& slice, std::size_t element, std::uint32_t rank) const {
  return static_cast<float>((rank + 1) * (1 + (static_cast<std::size_t>(slice.first) + element) % 7));
}

void SlicedRow::fill() {
  for (auto& row : rows_)
    for (const auto& [begun, made] : row.all()) {
      for (std::size_t i = 0; i < begun.size(); ++i) begun[i] = value(row.slice(), i, neighbours_.rank);
      std::ranges::fill(made, -1.0F);
    }
}

bool SlicedRow::is_right() const {
  for (const auto& row : rows_) {
    const auto made = row.made();
    for (std::size_t i = 0; i < made.size(); ++i) {
      float sum = 0;
      for (std::uint32_t rank = 0; rank < neighbours_.count(); ++rank) sum += value(row.slice(), i, rank);
      if (made[i] != sum) return false;
    }
  }
  return true;
}

bool SlicedRow::go_on() {
  for (; started_ < rows_.size() && rows_[started_].has_room(); ++started_) need(rows_[started_].start());
  if (started_ < rows_.size() || !std::ranges::all_of(rows_, &param::RowExchange::is_made)) return false;
  started_ = 0;
  return true;
}

bool SlicedRow::is_read() const { return std::ranges::none_of(rows_, &param::RowExchange::is_untaken); }

Status SlicedRow::hear(const param::Message& message) {
  const auto from = neighbours_.rank_of(message.seat);
  if (!from || message.slice >= rows_.size()) return Status::corrupt("a word for what is not exchanged");
  return rows_[message.slice].hear(message, *from);
}

} // namespace dlhost::bench
