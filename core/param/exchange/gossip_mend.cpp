// Gossip when a server group is lost, and when new processes replace it.
#include <algorithm>

#include "param/exchange/gossip.h"

namespace dlhost::param {

// The part that the lost neighbour would have sent: the sum of what the lost groups had learned and of the parts from
// the live servers behind them.
void Gossip::sum_up(Piece& piece, Link& link) {
  std::vector<float> sum = link.outlived;
  for (const Source& source : link.sources)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += source.values[i];
  replace(piece, link, sum);
}

void Gossip::mend(Piece& piece) {
  for (Link& link : piece.links) mend(piece, link);
}

// Adapts a link to the groups that are lost now. The old values of the link stay until each of its new sources has sent
// a part. Last parts are sent again.
void Gossip::mend(Piece& piece, Link& link) {
  const auto behind = graph_.behind(link.rank);
  std::vector<Ledger::Outlived> lost;
  for (const std::uint32_t rank : behind.lost) lost.push_back({rank, piece.outlived[rank].version});
  const bool is_mended = !lost.empty(), was_mended = link.is_mended;
  if (lost == link.lost && std::ranges::equal(behind.others, link.sources, {}, {}, &Source::rank)) return;
  std::vector<Source> sources;
  for (const std::uint32_t rank : behind.others) {
    const auto known = std::ranges::find(link.sources, rank, &Source::rank);
    if (known != link.sources.end() && is_mended && was_mended)
      sources.push_back(std::move(*known));
    else
      sources.push_back({.rank = rank, .values = std::vector<float>(is_mended ? link.heard.size() : 0)});
  }
  link.sources = std::move(sources);
  link.lost = std::move(lost);
  link.is_mended = is_mended;
  link.outlived.assign(is_mended ? link.heard.size() : 0, 0.0F);
  for (const std::uint32_t rank : behind.lost)
    for (std::size_t i = 0; i < piece.outlived[rank].learned.size(); ++i)
      link.outlived[i] += piece.outlived[rank].learned[i];
  link.told_last = 0;
  link.owed = true;
  if (is_mended && link.is_whole()) sum_up(piece, link);
}

Status Gossip::lose(std::uint32_t rank) {
  const bool is_asked = is_joining() && rank == recalls_from();
  graph_.lose(rank);
  std::erase_if(early_, [&](const Early& early) { return neighbours_.rank_of(early.from) == rank; });
  for (Piece& piece : pieces_) {
    Outlived& outlived = piece.outlived[rank];
    std::vector<float> learned(piece.common.size());
    if (const auto version = setup_.outlived_by(rank, *piece.slice, learned))
      outlived = {*version, std::move(learned)};
    else if (outlived.learned.empty()) // it had sent nothing
      outlived.learned.assign(piece.common.size(), 0.0F);
    for (Link& link : piece.links) std::erase(link.reading, rank);
    mend(piece);
    if (is_asked && piece.joining && !piece.recalled.empty()) DLHOST_TRY(recall_next(piece));
    DLHOST_TRY(piece.joining ? joined(piece) : tell(piece));
  }
  return {};
}

Status Gossip::join(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t order) {
  graph_.join(rank);
  neighbours_.all[rank].memory = memory;
  joins_ = order;
  for (Piece& piece : pieces_) {
    piece.told[rank] = piece.heard[rank] = first_part(order);
    mend(piece);
    DLHOST_TRY(tell(piece));
  }
  return {};
}

bool Gossip::is_joining() const { return std::ranges::any_of(pieces_, &Piece::joining); }

// Lists the groups whose learned changes this server must ask for: its own group, and those that are still lost.
void Gossip::begin_to_join(Piece& piece) {
  piece.joining = true;
  piece.recalled.assign(1, neighbours_.rank);
  for (std::uint32_t rank = 0; rank < neighbours_.count(); ++rank)
    if (graph_.is_lost(rank)) piece.recalled.push_back(rank);
}

Status Gossip::recall() {
  for (Piece& piece : pieces_) {
    mend(piece);
    DLHOST_TRY(recall_next(piece));
  }
  return {};
}

// The first group that goes on: it knows what all lost groups had learned, because it saw them or asked for it as it
// joined. It may be lost while it is asked: then the next one is.
std::uint32_t Gossip::recalls_from() const {
  std::uint32_t rank = 0;
  while (rank < neighbours_.count() && (rank == neighbours_.rank || graph_.is_lost(rank))) ++rank;
  return rank;
}

Status Gossip::recall_next(Piece& piece) {
  if (piece.recalled.empty()) return joined(piece);
  const std::uint32_t rank = piece.recalled.front(), asked = recalls_from();
  if (asked >= neighbours_.count())
    return Status::gone("no server group is left that knows what group ", rank, " learned");
  const auto* row = reinterpret_cast<const std::byte*>(piece.own[rank == neighbours_.rank ? 0 : 1].data());
  return neighbours_.tell(asked,
                          to_neighbour::Recall{.slice = piece.slice->id,
                                               .lost = static_cast<std::uint16_t>(rank),
                                               .place = static_cast<std::uint64_t>(row - neighbours_.memory.data())});
}

Status Gossip::answer_recall(Piece& piece, const to_neighbour::Recall& recall, std::uint32_t from) {
  const auto theirs = neighbours_.all[from].memory;
  const std::size_t bytes = piece.common.size() * sizeof(float);
  if (!setup_.mends || recall.lost >= neighbours_.count() || bytes > theirs.size() ||
      recall.place > theirs.size() - bytes || recall.place % sizeof(float) != 0)
    return does_not_fit(recall, neighbours_.all[from].seat, 0);
  if (recall.lost != from && !graph_.is_lost(recall.lost)) { // this server does not know of the loss yet
    early_.push_back({number_of(piece), neighbours_.all[from].seat, recall});
    return {};
  }
  const Outlived& outlived = piece.outlived[recall.lost];
  auto* const row = reinterpret_cast<float*>(theirs.data() + recall.place);
  if (outlived.learned.empty())
    std::fill_n(row, piece.common.size(), 0.0F);
  else
    std::ranges::copy(outlived.learned, row);
  return neighbours_.tell(
      from, to_neighbour::Recalled{.slice = piece.slice->id, .lost = recall.lost, .version = outlived.version});
}

Status Gossip::take_recalled(Piece& piece, const to_neighbour::Recalled& recalled, std::uint32_t from) {
  if (from != recalls_from() || piece.recalled.empty() || recalled.lost != piece.recalled.front())
    return does_not_fit(recalled, neighbours_.all[from].seat, 0);
  if (const std::uint32_t rank = recalled.lost; rank != neighbours_.rank) {
    piece.outlived[rank] = {recalled.version, std::vector<float>(piece.own[1].begin(), piece.own[1].end())};
    for (Link& link : piece.links) std::erase_if(link.lost, [&](const auto& one) { return one.group == rank; });
    mend(piece);
  }
  piece.recalled.erase(piece.recalled.begin());
  return recall_next(piece);
}

// Ends the joining, once all answers to `Recall` have arrived and each source of each link has sent a part.
Status Gossip::joined(Piece& piece) {
  if (!piece.joining || !piece.recalled.empty() || !std::ranges::all_of(piece.links, &Link::is_whole)) return {};
  auto* const value =
      reinterpret_cast<float*>(setup_.masters->value(piece.slice->param, 0).data()) + piece.slice->first;
  for (std::size_t i = 0; i < piece.common.size(); ++i) {
    float heard = 0;
    for (const Link& link : piece.links) heard += link.heard[i];
    value[i] = piece.begun[i] + piece.own[0][i] + heard;
    if (setup_.outlived) piece.kept[0][i] = heard;
  }
  std::copy_n(value, piece.common.size(), piece.common.begin());
  std::ranges::fill(piece.came, 0.0F);
  piece.has_come = piece.joining = false;
  if (ledger_) DLHOST_TRY(note_heard(piece, piece.at));
  DLHOST_TRY(publish(piece));
  for (Link& link : piece.links) link.owed = true;
  return tell(piece);
}

} // namespace dlhost::param
