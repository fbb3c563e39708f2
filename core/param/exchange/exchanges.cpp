#include "param/exchange/exchanges.h"

#include <algorithm>

#include "param/server/data_races.h"

namespace dlhost::param {

Exchanges::Exchanges(Setup setup) : GroupSync(std::move(setup)) {}

void Exchanges::add_bytes(const RowExchange::Part& part, std::span<const Slice* const> owned, std::size_t bound,
                          std::size_t& end) {
  const RowPlan plan = RowPlan::of(owned, part.codec, bound);
  if (plan.shared) return plan.add_bytes(end);
  for (const Slice* slice : owned) RowExchange::add_bytes(part, *slice, 1, end);
}

Status Exchanges::share_rows(std::span<const Slice* const> owned) {
  plan_ = RowPlan::of(owned, neighbours_.codec, setup_.rows_bound);
  if (plan_.shared) pool_.emplace(neighbours_, plan_);
  return {};
}

Status Exchanges::add(const Slice& slice) {
  Piece piece;
  const Updater& outer = sync().outer() ? *sync().outer() : addition_;
  const auto rule = outer.rule();
  for (const Slice& one : plan_.cut(slice)) {
    const Slice& part = section_slices_.emplace_back(one);
    auto rows = plan_.shared ? std::vector<RowExchange::Rows>(1) : RowExchange::rows(neighbours_, part, 1);
    DLHOST_ASSIGN(auto row, RowExchange::join(neighbours_, part, std::move(rows),
                                              static_cast<std::uint16_t>(piece.sections.size())));
    Section section{.row = std::move(row), .outer = nullptr, .shift = nullptr, .common = shared(part, 0)};
    section.offset = static_cast<std::size_t>(part.first - slice.first);
    std::vector<float*> histories;
    for (std::size_t slot = 0; slot < rule.history.size(); ++slot) histories.push_back(shared(part, 1 + slot).data());
    DLHOST_ASSIGN(section.outer, SliceUpdate::prepare(*setup_.store, *setup_.store->params()[slice.param], part.count,
                                                      {histories}, 1, outer, rule, {}));
    DLHOST_ASSIGN(section.shift, shift(part));
    piece.sections.push_back(std::move(section));
  }
  pieces_.push_back(std::move(piece));
  return {};
}

// The histories of the common value are in the masters: they have their initial values, or a checkpoint's.
void Exchanges::begin(const StartPoint& beginning) {
  if (pool_) pool_->reset();
  last_turn_ = 0;
  turn_ = 1;
  for (Piece& piece : pieces_) {
    for (Section& section : piece.sections) {
      const Slice& slice = section.row.slice();
      const auto* value = reinterpret_cast<const float*>(setup_.masters->value(slice.param, 0).data());
      std::copy_n(value + slice.first, section.common.size(), section.common.begin());
      section.row.reset();
    }
    piece.number = piece.aligned = piece.turn = piece.called_turn = piece.asked = 0;
    piece.begun = piece.ended = 0;
    piece.on = piece.called = false;
    piece.at = beginning.version_of(piece.sections.front().row.slice().id);
  }
}

bool Exchanges::is_due(std::size_t which, Version now) const {
  const Piece& piece = pieces_[which];
  return piece.called || piece.aligned > piece.number || now >= piece.at + sync().traits().every;
}

Status Exchanges::call(const Piece& piece, std::uint32_t rank, std::uint64_t number) const {
  return neighbours_.tell(rank, to_neighbour::Call{.slice = piece.sections.front().row.slice().id,
                                                   .exchange = number,
                                                   .turn = says_turns() ? piece.turn : 0});
}

// If the first group's server gives turns, and this server has none yet, it asks for one instead of beginning. If
// groups make steps together it does not ask, because the first group's server then sends the turn unasked.
Status Exchanges::enter(Piece& piece, Version version) {
  if (hears_turns() && !piece.called && !setup_.in_step) {
    if (piece.asked > piece.number) return {};
    piece.asked = piece.number + 1;
    return call(piece, 0, piece.asked);
  }
  piece.on = true;
  piece.begun = piece.ended = 0;
  piece.at = version;
  ++piece.number;
  piece.turn = says_turns() ? ++last_turn_ : std::exchange(piece.called_turn, 0);
  piece.called = false;
  if (hears_turns() || (setup_.in_step && !plan_.shared)) return {};
  for (std::uint32_t rank = 0; rank < neighbours_.count(); ++rank)
    if (rank != neighbours_.rank) DLHOST_TRY(call(piece, rank, piece.number));
  return {};
}

bool Exchanges::is_next(const Piece& piece) const {
  if (!piece.on || piece.begun == piece.sections.size()) return false;
  return !plan_.shared || (piece.turn == turn_ && pool_->has_place());
}

Status Exchanges::begin_section(Piece& piece, Version version, const float* value) {
  if (piece.begun == 0) piece.at = version;
  Section& section = piece.sections[piece.begun++];
  if (plan_.shared) {
    section.place = pool_->take();
    section.row.lend(pool_->rows(section.place, section.row.slice()));
    if (piece.begun == piece.sections.size()) ++turn_;
  }
  section.moved = false;
  section.at = version;
  const auto begun = section.row.next_begun();
  for (std::size_t i = 0; i < begun.size(); ++i) begun[i] = value[section.offset + i] - section.common[i];
  return section.row.start(version);
}

Result<bool> Exchanges::start(std::size_t which, Version version, const float* value) {
  Piece& piece = pieces_[which];
  if (!piece.on) DLHOST_TRY(enter(piece, version));
  while (is_next(piece)) DLHOST_TRY(begin_section(piece, version, value));
  return std::ranges::any_of(piece.sections, &Section::is_over);
}

std::optional<std::size_t> Exchanges::next() const {
  const auto found = std::ranges::find_if(pieces_, [&](const Piece& piece) { return is_next(piece); });
  if (found == pieces_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - pieces_.begin());
}

void Exchanges::amended(std::size_t which) {
  for (Section& section : pieces_[which].sections) section.moved = true;
}

// If groups make steps together, a call only names the turn, and may arrive while the exchange waits for it.
Result<GroupSync::News> Exchanges::hear_call(Piece& piece, const to_neighbour::Call& call, std::uint32_t from) {
  const bool waits_for_turn = hears_turns() && piece.on && piece.turn == 0;
  if (call.exchange <= piece.number && !waits_for_turn) return News::none; // this server has joined already
  const bool is_known = hears_turns() ? from == 0 && call.turn >= turn_ : call.turn == 0;
  if (!is_known || call.exchange != piece.number + (waits_for_turn ? 0 : 1) || (setup_.in_step && !hears_turns()))
    return does_not_fit(call, neighbours_.all[from].seat, piece.number);
  if (waits_for_turn) {
    piece.turn = call.turn;
    return News::none;
  }
  piece.called_turn = call.turn;
  piece.called = !setup_.in_step;
  return piece.on || setup_.in_step ? News::none : News::join;
}

// Takes `Part` or `Taken`.
template <class Message>
Result<GroupSync::News> Exchanges::hear(Piece& piece, const Message& message, std::uint32_t from) {
  if (message.section >= piece.sections.size())
    return Status::corrupt("seat ", neighbours_.all[from].seat, " is in section ", message.section, " of slice ",
                           message.slice, ", which has ", piece.sections.size());
  Section& section = piece.sections[message.section];
  DLHOST_TRY(section.row.hear(message, from));
  return section.is_over() ? News::over : News::none;
}

Result<GroupSync::News> Exchanges::take(std::size_t which, std::uint32_t from, const ToNeighbour& message) {
  Piece& piece = pieces_[which];
  const auto rank = neighbours_.rank_of(from);
  const auto refuse = [&]() -> Result<News> { return does_not_fit(message, from, piece.number); };
  if (!rank) return refuse();
  return dispatch(
      message, [&](const to_neighbour::Call& call) { return hear_call(piece, call, *rank); },
      [&](const to_neighbour::Part& part) { return hear(piece, part, *rank); },
      [&](const to_neighbour::Taken& taken) { return hear(piece, taken, *rank); },
      [&](const to_neighbour::Recall&) { return refuse(); }, [&](const to_neighbour::Recalled&) { return refuse(); });
}

std::optional<std::uint32_t> Exchanges::first_missing(std::size_t which) const {
  const auto missing = [](const Piece& piece) -> std::optional<std::uint32_t> {
    for (const Section& section : piece.sections)
      if (const auto rank = section.row.first_missing()) return rank;
    return std::nullopt;
  };
  const Piece& piece = pieces_[which];
  if (const auto rank = missing(piece)) return neighbours_.seat_of(rank);
  if (!piece.on) return std::nullopt;
  if (hears_turns() && piece.turn == 0) return neighbours_.seat_of(0);
  for (const Piece& other : pieces_) // another slice has the places that this one waits for
    if (const auto rank = missing(other)) return neighbours_.seat_of(rank);
  return std::nullopt;
}

Status Exchanges::conclude(std::size_t which, Version now, const float* from, float* to) {
  Piece& piece = pieces_[which];
  for (Section& section : piece.sections) {
    const float* const before = from + section.offset;
    float* const after = to + section.offset;
    if (section.is_over()) {
      ++piece.ended;
      DLHOST_TRY(conclude(section, piece.number, now, before, after));
      if (plan_.shared) pool_->give_back(section.place);
    } else if (from != to) {
      std::copy_n(before, section.common.size(), after);
    }
  }
  if (piece.ended < piece.sections.size()) return {};
  piece.on = false;
  return ledger_ ? ledger_->exchanged(which, piece.number, piece.at, now) : Status();
}

Status Exchanges::conclude(Section& section, std::uint64_t number, Version now, const float* from, float* to) {
  section.row.end();
  const bool moved = section.moved || now != section.at;
  const auto begun = section.row.begun();
  if (moved) // restores the value with which the section began
    for (std::size_t i = 0; i < begun.size(); ++i) begun[i] += section.common[i];
  const float weight = sync().traits().averages ? 1.0F / static_cast<float>(neighbours_.count()) : 1.0F;
  const float* const made = section.row.made().data();
  float* const common = section.common.data();
  neighbours_.activity->enter(neighbours_.actor, "outer", number);
  const Status status = section.outer->run(
      {.from = common, .to = common, .gradients = {&made, 1}, .count = number, .rate = 1, .weight = weight}, {});
  neighbours_.activity->leave();
  DLHOST_TRY(status);
  if (!moved) {
    std::copy_n(common, section.common.size(), to);
    return {};
  }
  for (std::size_t i = 0; i < begun.size(); ++i) begun[i] = common[i] - begun[i];
  const float* const difference = begun.data();
  const IgnoreDataRaces racing(setup_.masters->values(section.row.slice().param) == 1); // perhaps read in place
  return section.shift->run({.from = from, .to = to, .gradients = {&difference, 1}, .count = 1}, {});
}

// If groups make steps together and this server has nothing new to exchange, no other server has.
bool Exchanges::align(std::size_t which, Version now, std::uint64_t) {
  Piece& piece = pieces_[which];
  const bool news = !setup_.in_step || now != piece.at;
  piece.aligned = piece.number + (news ? 1 : 0);
  return news && !piece.on;
}

// If another server has begun the exchange, its call arrives as well.
bool Exchanges::align_through(std::size_t which, std::uint64_t number) {
  Piece& piece = pieces_[which];
  piece.aligned = std::max(piece.aligned, number);
  return piece.number < piece.aligned && !piece.on;
}

// False while any exchange is on: another server may have called for one more than the alignment needs, and the value
// changes when that is over.
bool Exchanges::is_aligned() const {
  return std::ranges::all_of(pieces_, [](const Piece& piece) { return piece.number >= piece.aligned && !piece.on; });
}

} // namespace dlhost::param
