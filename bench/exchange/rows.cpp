#include "exchange/rows.h"

#include <algorithm>

#include "need.h"

namespace dlhost::bench {

SlicedRow::SlicedRow(Net& net, const Sync& sync, std::span<const std::uint32_t> machines, const Encoded& encoded,
                     std::int64_t slice)
    : sync_(sync),
      slices_(param::Slices::cut(net.elements(), 1, 1, std::array{encoded.piece(net.elements()[0])}, slice)) {
  if (encoded.codec) {
    coding_.emplace(net.store(), slices_, *encoded.codec, 1, 0, param::Coding::Kind{.sent = false});
    bytes_ = coding_->end();
    codec_ = {.store = &net.store(), .coding = &*coding_, .codec = encoded.codec, .actor = encoded.actor};
  }
  // All nodes allocate the same size, the largest need, because mirrors are made before nodes announce their sizes.
  const std::size_t begin = bytes_;
  for (std::uint32_t rank = 0; rank < machines.size(); ++rank) {
    const auto nodes = static_cast<std::uint32_t>(machines.size());
    const param::RowExchange::Part part{.sync = &sync, .ranks = {rank, nodes, machines}, .codec = codec_};
    std::size_t end = begin;
    for (const auto& one : slices_.all()) param::RowExchange::add_bytes(part, one, param::RowExchange::turns(one), end);
    bytes_ = std::max(bytes_, end);
  }
}

void SlicedRow::join(const Site& site) {
  codec_.activity = site.activity;
  neighbours_ = {
      .rank = site.rank,
      .all = {},
      .memory = site.own,
      .place = coding_ ? coding_->end() : 0,
      .sync = &sync_,
      .actor = nullptr,
      .activity = site.activity,
      .codec = codec_,
      .traffic = &traffic_,
      .send = [site](std::uint32_t seat, const param::ToNeighbour& message, std::span<const std::byte> part) {
        const auto at = static_cast<std::size_t>(part.empty() ? 0 : part.data() - site.own.data());
        return site.post->send(seat, message, site.shown(seat, part, at));
      }};
  for (std::uint32_t node = 0; node < site.machines.size(); ++node)
    neighbours_.all.push_back({node, site.memories[node], site.machines[node]});
  if (coding_) coding_->clear(site.own, false);
  for (const auto& one : slices_.all()) {
    auto rows = param::RowExchange::rows(neighbours_, one, param::RowExchange::turns(one));
    for (auto& [begun, made, encoded] : rows) {
      for (std::size_t i = 0; i < begun.size(); ++i)
        begun[i] = value_at(static_cast<std::size_t>(one.first) + i, site.rank);
      std::ranges::fill(made, -1.0F);
    }
    rows_.push_back(need(param::RowExchange::join(neighbours_, one, std::move(rows))));
  }
}

bool SlicedRow::go_on() {
  for (; started_ < rows_.size() && rows_[started_].has_room(); ++started_) need(rows_[started_].start(0));
  if (started_ < rows_.size() || !std::ranges::all_of(rows_, &param::RowExchange::is_made)) return false;
  started_ = 0;
  return true;
}

bool SlicedRow::is_read() const { return std::ranges::none_of(rows_, &param::RowExchange::is_untaken); }

std::vector<Exchanged::Part> SlicedRow::made() const {
  std::vector<Part> parts;
  for (const auto& row : rows_) parts.push_back({static_cast<std::size_t>(row.slice().first), row.made()});
  return parts;
}

Status SlicedRow::hear(std::uint32_t from, const param::Body& message) {
  const auto rank = neighbours_.rank_of(from);
  const auto hear = [&](const auto* one) {
    if (!rank || one->slice >= rows_.size()) return Status::corrupt("a message about a slice that is not exchanged");
    return rows_[one->slice].hear(*one, *rank);
  };
  if (const auto* part = param::find_message<param::to_neighbour::Part>(message)) return hear(part);
  if (const auto* taken = param::find_message<param::to_neighbour::Taken>(message)) return hear(taken);
  return Status::corrupt("a message that belongs to no exchange");
}

} // namespace dlhost::bench
