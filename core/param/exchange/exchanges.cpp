#include "param/exchange/exchanges.h"

#include <algorithm>

#include "param/server/data_races.h"

namespace dlhost::param {

Exchanges::Exchanges(Setup setup) : GroupSync(std::move(setup)) {}

Status Exchanges::add(const Slice& slice) {
  DLHOST_ASSIGN(auto row, RowExchange::join(neighbours_, slice, RowExchange::rows(neighbours_, slice, turns)));
  Piece piece{.row = std::move(row), .outer = nullptr, .shift = nullptr, .common = shared(slice, 0)};
  const Updater& outer = sync().outer() ? *sync().outer() : addition_;
  const auto rule = outer.rule();
  std::vector<float*> histories;
  for (std::size_t slot = 0; slot < rule.history.size(); ++slot) histories.push_back(shared(slice, 1 + slot).data());
  DLHOST_ASSIGN(piece.outer, SliceUpdate::prepare(*setup_.store, *setup_.store->params()[slice.param], slice.count,
                                                  {histories}, 1, outer, rule, {}));
  DLHOST_ASSIGN(piece.shift, shift(slice));
  pieces_.push_back(std::move(piece));
  return {};
}

// Histories were given their first values with the masters, or those of a checkpoint.
void Exchanges::begin(const StartPoint& beginning) {
  for (Piece& piece : pieces_) {
    const Slice& slice = piece.row.slice();
    const auto* value = reinterpret_cast<const float*>(setup_.masters->value(slice.param, 0).data());
    std::copy_n(value + slice.first, piece.common.size(), piece.common.begin());
    piece.at = beginning.version_of(slice.id);
    piece.aligned = 0;
    piece.called = false;
    piece.row.reset();
  }
}

bool Exchanges::is_due(std::size_t which, Version now) const {
  const Piece& piece = pieces_[which];
  return piece.called || piece.aligned > piece.row.number() || now >= piece.at + sync().traits().every;
}

Result<bool> Exchanges::start(std::size_t which, Version version, const float* value) {
  Piece& piece = pieces_[which];
  piece.called = piece.moved = false;
  piece.at = version;
  const auto begun = piece.row.next_begun();
  for (std::size_t i = 0; i < begun.size(); ++i) begun[i] = value[i] - piece.common[i];
  const Message call{.word = Word::call, .slice = piece.row.slice().id, .version = piece.row.number() + 1};
  for (std::uint32_t rank = 0; !setup_.in_step && rank < neighbours_.count(); ++rank)
    if (rank != neighbours_.rank) DLHOST_TRY(neighbours_.tell(rank, call));
  DLHOST_TRY(piece.row.start(version));
  return piece.is_over();
}

Result<GroupSync::News> Exchanges::take(std::size_t which, const Message& message) {
  Piece& piece = pieces_[which];
  RowExchange& row = piece.row;
  const auto from = neighbours_.rank_of(message.seat);
  if (!from) return neighbours_.wrong(row.slice(), message, row.number());
  if (message.word == Word::call) {
    if (message.version <= row.number()) return News::none; // it has joined already
    if (message.version != row.number() + 1 || setup_.in_step)
      return neighbours_.wrong(row.slice(), message, row.number());
    piece.called = true;
    return row.is_on() ? News::none : News::join;
  }
  DLHOST_TRY(row.hear(message, *from));
  return row.is_on() && piece.is_over() ? News::over : News::none;
}

Status Exchanges::conclude(std::size_t which, Version now, const float* from, float* to) {
  Piece& piece = pieces_[which];
  const std::uint64_t number = piece.row.number();
  piece.row.end();
  if (ledger_) DLHOST_TRY(ledger_->exchanged(which, number, piece.at, now));
  const bool moved = piece.moved || now != piece.at;
  const auto begun = piece.row.begun();
  if (moved) // back to the value that it began with
    for (std::size_t i = 0; i < begun.size(); ++i) begun[i] += piece.common[i];
  const float weight = sync().traits().averages ? 1.0F / static_cast<float>(neighbours_.count()) : 1.0F;
  const float* const made = piece.row.made().data();
  float* const common = piece.common.data();
  neighbours_.activity->enter(neighbours_.actor, "outer", number);
  const Status status = piece.outer->run(
      {.from = common, .to = common, .gradients = {&made, 1}, .count = number, .rate = 1, .weight = weight}, {});
  neighbours_.activity->leave();
  DLHOST_TRY(status);
  if (!moved) {
    std::copy_n(common, piece.common.size(), to);
    return {};
  }
  for (std::size_t i = 0; i < begun.size(); ++i) begun[i] = common[i] - begun[i];
  const float* const difference = begun.data();
  const IgnoreDataRaces racing(from == to); // its readers mean it
  return piece.shift->run({.from = from, .to = to, .gradients = {&difference, 1}, .count = 1}, {});
}

// In step, nobody has learned anything where this one has not.
bool Exchanges::align(std::size_t which, Version now) {
  Piece& piece = pieces_[which];
  const bool news = !setup_.in_step || now != piece.at;
  piece.aligned = piece.row.number() + (news ? 1 : 0);
  return news && !piece.row.is_on();
}

// Whoever has begun that one calls this one to it as well.
bool Exchanges::align_through(std::size_t which, std::uint64_t number) {
  Piece& piece = pieces_[which];
  piece.aligned = std::max(piece.aligned, number);
  return piece.row.number() < piece.aligned && !piece.row.is_on();
}

// Another one may have called it to one more than it was to have: the value is not what it will be before that is over.
bool Exchanges::is_aligned() const {
  return std::ranges::all_of(
      pieces_, [](const Piece& piece) { return piece.row.number() >= piece.aligned && !piece.row.is_on(); });
}

} // namespace dlhost::param
