#include "param/exchange/gossip.h"

#include <algorithm>
#include <functional>

#include "param/server/data_races.h"

namespace dlhost::param {
namespace {

constexpr std::uint64_t last_word = 1; // Message::step

void add_to(std::span<float> sum, std::span<const float> values) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
}

} // namespace

Gossip::Gossip(Setup setup)
    : GroupSync(std::move(setup)), ranks_(sync().neighbours(neighbours_.rank, neighbours_.count())) {
  heard_.reserve(ranks_.size());
}

Status Gossip::add(const Slice& slice) {
  Piece piece{.slice = &slice};
  piece.common = shared(slice, 0);
  piece.came = neighbours_.row(slice);
  if (setup_.outlived) {
    piece.begun = shared(slice, begun_row(sync()));
    for (std::size_t which = 0; which < piece.kept.size(); ++which)
      piece.kept[which] = shared(slice, heard_row(sync(), which));
  }
  for (const std::uint32_t rank : ranks_) {
    if (rank >= neighbours_.count() || rank == neighbours_.rank)
      return Status::internal("the sync names rank ", rank, " a neighbour of rank ", neighbours_.rank, ", of ",
                              neighbours_.count());
    Link link{.rank = rank};
    link.lacks = neighbours_.row(slice);
    link.sent = neighbours_.row(slice);
    piece.links.push_back(link);
  }
  DLHOST_ASSIGN(piece.shift, shift(slice));
  pieces_.push_back(std::move(piece));
  return {};
}

void Gossip::begin(const StartPoint& beginning) {
  for (Piece& piece : pieces_) {
    const auto* value = reinterpret_cast<const float*>(setup_.masters->value(piece.slice->param, 0).data());
    std::copy_n(value + piece.slice->first, piece.common.size(), piece.common.begin());
    std::ranges::fill(piece.came, 0.0F);
    std::copy_n(piece.common.begin(), piece.begun.size(), piece.begun.begin());
    std::ranges::fill(piece.kept[0], 0.0F);
    piece.heard = 0;
    piece.has_come = piece.aligning = piece.begins_to_align = false;
    piece.at = beginning.version_of(piece.slice->id);
    for (Link& link : piece.links) {
      link = {.rank = link.rank, .lacks = link.lacks, .sent = link.sent};
      std::ranges::fill(link.lacks, 0.0F);
    }
  }
}

bool Gossip::is_due(std::size_t which, Version now) const {
  const Piece& piece = pieces_[which];
  return piece.begins_to_align || now >= piece.at + sync().traits().every;
}

// What it has learned itself since it was told last.
Result<bool> Gossip::start(std::size_t which, Version version, const float* value) {
  Piece& piece = pieces_[which];
  piece.at = version;
  if (std::exchange(piece.begins_to_align, false)) piece.aligning = true;
  for (Link& link : piece.links) {
    for (std::size_t i = 0; i < piece.common.size(); ++i) link.lacks[i] += value[i] - piece.common[i];
    link.owed = true;
  }
  std::copy_n(value, piece.common.size(), piece.common.begin());
  DLHOST_TRY(tell(piece));
  return false;
}

bool Gossip::may_say_last(const Piece& piece, const Link& to) {
  return piece.aligning && !to.told_last &&
         std::ranges::all_of(piece.links, [&](const Link& link) { return &link == &to || link.heard_last; });
}

// Each neighbour that has read what it was told last.
Status Gossip::tell(Piece& piece) {
  for (Link& link : piece.links) {
    const bool last = may_say_last(piece, link);
    if (link.under_way || (!link.owed && !last)) continue;
    std::swap(link.lacks, link.sent);
    std::ranges::fill(link.lacks, 0.0F);
    link.owed = false;
    link.under_way = true;
    link.told_last = last;
    ++link.told;
    if (ledger_) DLHOST_TRY(note_told(piece, link));
    DLHOST_TRY(neighbours_.send_part(link.rank, *piece.slice, std::as_bytes(link.sent),
                                     {.step = last ? last_word : 0,
                                      .samples = {0, static_cast<std::uint32_t>(link.sent.size())},
                                      .version = link.told}));
  }
  if (piece.aligning && piece.is_quiet()) {
    piece.aligning = false;
    for (Link& link : piece.links) link.told_last = link.heard_last = false;
  }
  return {};
}

// What a part holds: its own until then, and what the other neighbours have told.
Status Gossip::note_told(const Piece& piece, const Link& to) {
  heard_.clear();
  for (const Link& link : piece.links)
    if (&link != &to && link.heard > 0) heard_.push_back({link.rank, link.heard});
  return ledger_->told(static_cast<std::size_t>(&piece - pieces_.data()), to.rank, to.told, piece.at, heard_);
}

Status Gossip::note_heard(const Piece& piece, Version now) {
  heard_.clear();
  for (const Link& link : piece.links)
    if (link.heard > 0) heard_.push_back({link.rank, link.heard});
  return ledger_->heard(static_cast<std::size_t>(&piece - pieces_.data()), heard_, now);
}

bool Gossip::Piece::is_quiet() const {
  return std::ranges::all_of(links,
                             [](const Link& link) { return link.told_last && link.heard_last && !link.under_way; });
}

Result<GroupSync::News> Gossip::take(std::size_t which, const Message& message) {
  Piece& piece = pieces_[which];
  const auto rank = neighbours_.rank_of(message.seat);
  const auto link = std::ranges::find(piece.links, rank, &Link::rank);
  if (link == piece.links.end()) return neighbours_.wrong(*piece.slice, message, 0);
  if (message.word == Word::taken) {
    if (!link->under_way || message.version != link->told) return neighbours_.wrong(*piece.slice, message, link->told);
    link->under_way = false;
    DLHOST_TRY(tell(piece));
    return News::none;
  }
  if (message.word != Word::part || message.version != link->heard + 1 || link->heard_last ||
      message.samples != SampleRange{0, static_cast<std::uint32_t>(piece.slice->count)})
    return neighbours_.wrong(*piece.slice, message, link->heard);
  DLHOST_ASSIGN(const auto values, neighbours_.read(*piece.slice, message, link->rank));
  ++link->heard;
  link->heard_last = message.step == last_word;
  add_to(piece.came, values);
  piece.has_come = true;
  for (Link& other : piece.links)
    if (&other != &*link) {
      add_to(other.lacks, values);
      other.owed = true;
    }
  DLHOST_TRY(neighbours_.tell(link->rank, {.word = Word::taken, .slice = piece.slice->id, .version = message.version}));
  DLHOST_TRY(tell(piece));
  return News::over;
}

Status Gossip::conclude(std::size_t which, Version now, const float* from, float* to) {
  Piece& piece = pieces_[which];
  if (ledger_) DLHOST_TRY(note_heard(piece, now));
  const float* const came = piece.came.data();
  const IgnoreDataRaces racing(from == to); // its readers mean it
  DLHOST_TRY(piece.shift->run({.from = from, .to = to, .gradients = {&came, 1}, .count = 1}, {}));
  add_to(piece.common, piece.came);
  if (!piece.begun.empty()) {
    const auto before = piece.kept[piece.heard], after = piece.kept[1 - piece.heard];
    for (std::size_t i = 0; i < after.size(); ++i) after[i] = before[i] + piece.came[i];
    piece.heard = 1 - piece.heard;
  }
  std::ranges::fill(piece.came, 0.0F);
  piece.has_come = false;
  return {};
}

bool Gossip::align(std::size_t which, Version) {
  pieces_[which].begins_to_align = true;
  return true;
}

bool Gossip::is_aligned() const {
  return std::ranges::none_of(
      pieces_, [](const Piece& piece) { return piece.begins_to_align || piece.aligning || piece.has_come; });
}

} // namespace dlhost::param
