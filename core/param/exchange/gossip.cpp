#include "param/exchange/gossip.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "param/server/data_races.h"

namespace dlhost::param {

Gossip::Gossip(Setup setup) : GroupSync(std::move(setup)), graph_(sync(), neighbours_.rank, neighbours_.count()) {
  heard_.reserve(2 * graph_.neighbours().size());
}

Status Gossip::add(const Slice& slice) {
  Piece piece{.slice = &slice};
  piece.common = shared(slice, 0);
  piece.begun = shared(slice, begun_row(sync()));
  piece.came = neighbours_.row(slice);
  for (auto& own : piece.own) own = neighbours_.row(slice);
  for (std::size_t which = 0; setup_.outlived && which < piece.kept.size(); ++which)
    piece.kept[which] = shared(slice, heard_row(sync(), which));
  for (const std::uint32_t rank : graph_.neighbours()) {
    if (rank >= neighbours_.count() || rank == neighbours_.rank)
      return Status::internal("the sync names rank ", rank, " a neighbour of rank ", neighbours_.rank, ", of ",
                              neighbours_.count());
    Link link{.rank = rank};
    link.heard = neighbours_.row(slice);
    link.told = neighbours_.row(slice);
    link.of.reserve(1);
    piece.links.push_back(std::move(link));
  }
  DLHOST_ASSIGN(piece.shift, shift(slice));
  pieces_.push_back(std::move(piece));
  return {};
}

void Gossip::begin(const StartPoint& beginning) {
  const auto& joining = beginning.joining;
  joins_ = joining ? joining->order : 0;
  for (std::size_t other = 0; joining && other < joining->lost.size(); ++other) graph_.lose(joining->lost[other]);
  for (Piece& piece : pieces_) {
    for (const auto& row : {piece.came, piece.own[0], piece.own[1], piece.kept[0]}) std::ranges::fill(row, 0.0F);
    piece.own_at = piece.kept_at = 0;
    piece.has_come = false;
    piece.at = beginning.version_of(piece.slice->id);
    piece.asked = piece.last = joining ? joining->times_aligned : 0;
    piece.told.assign(neighbours_.count(), first_part(joins_));
    piece.heard.assign(neighbours_.count(), first_part(joins_));
    piece.outlived.assign(neighbours_.count(), {});
    for (Link& link : piece.links) {
      link = {.rank = link.rank, .heard = link.heard, .told = link.told};
      std::ranges::fill(link.heard, 0.0F);
      link.sources.reserve(1);
      link.reading.reserve(1);
      link.of.reserve(1);
      link.sources.push_back({.rank = link.rank});
    }
    if (joining) {
      begin_to_join(piece);
      continue;
    }
    const auto* value = reinterpret_cast<const float*>(setup_.masters->value(piece.slice->param, 0).data());
    std::copy_n(value + piece.slice->first, piece.common.size(), piece.common.begin());
    std::ranges::copy(piece.common, piece.begun.begin());
  }
}

bool Gossip::is_due(std::size_t which, Version now) const {
  const Piece& piece = pieces_[which];
  return piece.asked != piece.last || now >= piece.at + sync().traits().every;
}

// Adds this server's changes since the last start() to `own`, and owes them to all neighbours. Changes too small to
// alter the sum in `own` stay in the difference of `value` and `common`, and are added later.
Result<bool> Gossip::start(std::size_t which, Version version, const float* value) {
  Piece& piece = pieces_[which];
  piece.at = version;
  piece.last = piece.asked;
  const auto before = piece.own[piece.own_at], after = piece.own[1 - piece.own_at];
  for (std::size_t i = 0; i < after.size(); ++i) {
    after[i] = before[i] + (value[i] - piece.common[i]);
    piece.common[i] += after[i] - before[i];
  }
  piece.own_at = 1 - piece.own_at;
  DLHOST_TRY(publish(piece));
  for (Link& link : piece.links) link.owed = true;
  DLHOST_TRY(tell(piece));
  return false;
}

Status Gossip::publish(const Piece& piece) {
  if (!setup_.publish) return {};
  const auto* const own = reinterpret_cast<const std::byte*>(piece.own[piece.own_at].data());
  return setup_.publish(number_of(piece), piece.at, static_cast<std::uint64_t>(own - neighbours_.memory.data()));
}

bool Gossip::may_say_last(const Piece& piece, const Link& to) {
  return to.told_last < piece.last && std::ranges::all_of(piece.links, [&](const Link& link) {
           return &link == &to || link.heard_last() >= piece.last;
         });
}

Status Gossip::tell(Piece& piece) {
  for (Link& link : piece.links) DLHOST_TRY(tell(piece, link));
  return {};
}

// Sends a part over a link, if there are changes to send and the last part has been read. All sources of a mended link
// read the same part.
Status Gossip::tell(Piece& piece, Link& link) {
  const bool last = may_say_last(piece, link);
  if (piece.joining || link.sources.empty() || !link.reading.empty() || (!link.owed && !last)) return {};
  std::ranges::copy(piece.own[piece.own_at], link.told.begin());
  for (const Link& other : piece.links)
    for (std::size_t i = 0; &other != &link && i < link.told.size(); ++i) link.told[i] += other.heard[i];
  link.owed = false;
  if (last) link.told_last = piece.last;
  for (const Source& source : link.sources) {
    link.reading.push_back(source.rank);
    ++piece.told[source.rank];
    if (ledger_) DLHOST_TRY(note_told(piece, link, source.rank));
    DLHOST_TRY(neighbours_.send_part(source.rank, *piece.slice, std::as_bytes(link.told),
                                     {.joins = static_cast<std::uint16_t>(joins_),
                                      .exchange = piece.told[source.rank],
                                      .round = last ? piece.last : 0,
                                      .elements = {0, static_cast<std::uint32_t>(link.told.size())}}));
  }
  return {};
}

void Gossip::note(const Link& link) {
  heard_.insert(heard_.end(), link.of.begin(), link.of.end());
  outlived_.insert(outlived_.end(), link.of_lost.begin(), link.of_lost.end());
}

// Records the contents of a part: what this server has learned, and the parts of its other neighbours.
Status Gossip::note_told(const Piece& piece, const Link& to, std::uint32_t rank) {
  heard_.clear();
  outlived_.clear();
  for (const Link& link : piece.links)
    if (&link != &to) note(link);
  return ledger_->told(number_of(piece), rank, piece.told[rank], piece.at, heard_, outlived_);
}

Status Gossip::note_heard(const Piece& piece, Version now) {
  heard_.clear();
  outlived_.clear();
  for (const Link& link : piece.links) note(link);
  return ledger_->heard(number_of(piece), heard_, now, outlived_);
}

std::uint64_t Gossip::Link::heard_last() const {
  std::uint64_t least = every_last;
  for (const Source& source : sources) least = std::min(least, source.last);
  return least;
}

bool Gossip::Link::is_whole() const { return std::ranges::all_of(sources, &Source::heard); }

bool Gossip::Piece::is_quiet() const {
  return std::ranges::all_of(links, [this](const Link& link) {
    const bool told = link.told_last >= last || link.sources.empty();
    return told && link.heard_last() >= last && link.reading.empty();
  });
}

Result<GroupSync::News> Gossip::take(std::size_t which, std::uint32_t from, const ToNeighbour& message) {
  Piece& piece = pieces_[which];
  const auto rank = neighbours_.rank_of(from);
  if (!rank) return does_not_fit(message, from, 0);
  const auto none = [](Status status) -> Result<News> {
    if (!status.ok()) return status;
    return News::none;
  };
  return dispatch(
      message, [&](const to_neighbour::Call&) -> Result<News> { return does_not_fit(message, from, 0); },
      [&](const to_neighbour::Part& part) { return take_part(piece, part, *rank); },
      [&](const to_neighbour::Taken& taken) { return none(take_taken(piece, taken, *rank)); },
      [&](const to_neighbour::Recall& recall) { return none(answer_recall(piece, recall, *rank)); },
      [&](const to_neighbour::Recalled& recalled) { return none(take_recalled(piece, recalled, *rank)); });
}

Status Gossip::take_taken(Piece& piece, const to_neighbour::Taken& taken, std::uint32_t from) {
  for (Link& link : piece.links) {
    const auto reader = std::ranges::find(link.reading, from);
    if (reader == link.reading.end() || taken.exchange != piece.told[from]) continue;
    link.reading.erase(reader);
    return tell(piece);
  }
  return does_not_fit(taken, neighbours_.all[from].seat, piece.told[from]);
}

// New values of a link replace its old ones: the difference is added to `came`.
void Gossip::replace(Piece& piece, Link& link, std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    piece.came[i] += values[i] - link.heard[i];
    link.heard[i] = values[i];
  }
  link.of.clear();
  for (const Source& source : link.sources) link.of.push_back({source.rank, piece.heard[source.rank]});
  link.of_lost = link.lost;
  piece.has_come = true;
  for (Link& other : piece.links) other.owed = other.owed || &other != &link;
}

Result<GroupSync::News> Gossip::take_part(Piece& piece, const to_neighbour::Part& part, std::uint32_t from) {
  Link* link = nullptr;
  Source* source = nullptr;
  for (Link& one : piece.links)
    for (Source& behind : one.sources)
      if (behind.rank == from) std::tie(link, source) = std::pair(&one, &behind);
  const auto taken = [&] {
    return neighbours_.tell(from, to_neighbour::Taken{.slice = piece.slice->id, .exchange = part.exchange});
  };
  if (!link && setup_.mends && part.joins < joins_) { // the sender did not know yet that a group had joined
    piece.heard[from] = part.exchange;
    DLHOST_TRY(taken());
    return News::none;
  }
  if (!link && setup_.mends) { // the sender knew of a loss before this server
    early_.push_back({number_of(piece), neighbours_.all[from].seat, part});
    return News::none;
  }
  if (!link || part.exchange != piece.heard[from] + 1 ||
      part.elements != SampleRange{0, static_cast<std::uint32_t>(piece.slice->count)})
    return does_not_fit(part, neighbours_.all[from].seat, piece.heard[from]);
  DLHOST_ASSIGN(const auto values, neighbours_.read(*piece.slice, part, from));
  ++piece.heard[from];
  source->heard = true;
  source->last = std::max(source->last, part.round);
  if (link->is_mended) {
    std::ranges::copy(values, source->values.begin());
    if (link->is_whole()) sum_up(piece, *link);
  } else {
    replace(piece, *link, values);
  }
  DLHOST_TRY(taken());
  if (piece.joining) {
    DLHOST_TRY(joined(piece));
    return News::none;
  }
  DLHOST_TRY(tell(piece));
  return piece.has_come ? News::over : News::none;
}

Status Gossip::conclude(std::size_t which, Version now, const float* from, float* to) {
  Piece& piece = pieces_[which];
  if (ledger_) DLHOST_TRY(note_heard(piece, now));
  const float* const came = piece.came.data();
  const IgnoreDataRaces racing(setup_.masters->values(piece.slice->param) == 1); // perhaps read in place
  DLHOST_TRY(piece.shift->run({.from = from, .to = to, .gradients = {&came, 1}, .count = 1}, {}));
  for (std::size_t i = 0; i < piece.common.size(); ++i) piece.common[i] += piece.came[i];
  if (setup_.outlived) {
    const auto before = piece.kept[piece.kept_at], after = piece.kept[1 - piece.kept_at];
    for (std::size_t i = 0; i < after.size(); ++i) after[i] = before[i] + piece.came[i];
    piece.kept_at = 1 - piece.kept_at;
  }
  std::ranges::fill(piece.came, 0.0F);
  piece.has_come = false;
  return {};
}

bool Gossip::align(std::size_t which, Version, std::uint64_t number) {
  Piece& piece = pieces_[which];
  piece.asked = number == 0 ? piece.asked + 1 : number;
  return true;
}

bool Gossip::is_aligned() const {
  return std::ranges::none_of(pieces_, [](const Piece& piece) {
    return piece.asked != piece.last || !piece.is_quiet() || piece.has_come || piece.joining;
  });
}

} // namespace dlhost::param
