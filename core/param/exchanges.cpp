#include "param/exchanges.h"

#include <algorithm>

#include "param/racing.h"

namespace dlhost::param {
namespace {

constexpr std::size_t most_steps = 4; // for each rank, of one call of a sync or at once under way

void apply(const SyncStep& step, const float* from, std::span<float> made) {
  float* to = made.data() + step.first;
  if (step.act == SyncStep::Act::replace) {
    std::copy_n(from, step.count, to);
    return;
  }
  for (std::int64_t i = 0; i < step.count; ++i) to[i] += from[i];
}

} // namespace

Exchanges::Exchanges(Setup setup) : GroupSync(std::move(setup)) { steps_.reserve(most_steps * setup_.servers.size()); }

Status Exchanges::add(const Slice& slice) {
  const auto count = static_cast<std::uint32_t>(setup_.servers.size());
  Piece piece{.slice = &slice};
  piece.exchange = setup_.sync->join(setup_.rank, count, slice.count);
  if (!piece.exchange) return Status::internal("the sync makes no exchange, and names no neighbours to gossip with");
  piece.common = shared(slice, 0);
  piece.begun = row(slice);
  piece.made = row(slice);
  piece.awaited.reserve(most_steps * count);
  piece.letters.reserve(most_steps * count);
  const Updater& outer = setup_.sync->outer() ? *setup_.sync->outer() : addition_;
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
void Exchanges::begin(const Beginning& beginning) {
  for (Piece& piece : pieces_) {
    const auto* value = reinterpret_cast<const float*>(setup_.masters->value(piece.slice->param, 0).data());
    std::copy_n(value + piece.slice->first, piece.common.size(), piece.common.begin());
    piece.at = beginning.version_of(piece.slice->id);
    piece.number = piece.aligned = 0;
    piece.on = piece.done = piece.called = false;
    piece.untaken = 0;
    piece.awaited.clear();
    piece.letters.clear();
  }
}

bool Exchanges::is_due(std::size_t which, Version now) const {
  const Piece& piece = pieces_[which];
  return piece.called || piece.aligned > piece.number || now >= piece.at + setup_.sync->traits().every;
}

Result<bool> Exchanges::start(std::size_t which, Version version, const float* value) {
  Piece& piece = pieces_[which];
  piece.on = true;
  piece.done = piece.called = piece.moved = false;
  piece.at = version;
  ++piece.number;
  for (std::size_t i = 0; i < piece.begun.size(); ++i) piece.begun[i] = value[i] - piece.common[i];
  const Message call{.word = Word::call, .epoch = setup_.epoch, .slice = piece.slice->id, .version = piece.number};
  for (std::uint32_t rank = 0; !setup_.in_step && rank < setup_.servers.size(); ++rank)
    if (rank != setup_.rank) DLHOST_TRY(setup_.send(setup_.servers[rank].seat, call));
  steps_.clear();
  setup_.activity->enter(setup_.actor, "begin", piece.number);
  piece.exchange->begin(steps_);
  setup_.activity->leave();
  DLHOST_TRY(follow(piece));
  return go_on(piece);
}

Status Exchanges::follow(Piece& piece) {
  for (const SyncStep& step : steps_) {
    if (step.act == SyncStep::Act::done) {
      piece.done = true;
      continue;
    }
    const auto elements = static_cast<std::int64_t>(piece.begun.size());
    if (step.peer >= setup_.servers.size() || step.first < 0 || step.count < 0 || step.count > elements - step.first)
      return Status::internal("the sync wants elements ", step.first, " to ", step.first + step.count, " of rank ",
                              step.peer, ": slice ", piece.slice->id, " has ", elements, ", and there are ",
                              setup_.servers.size(), " ranks");
    if (step.act == SyncStep::Act::send)
      DLHOST_TRY(send(piece, step));
    else if (step.peer == setup_.rank)
      apply(step, piece.begun.data() + step.first, piece.made);
    else if (piece.awaited.size() < piece.awaited.capacity())
      piece.awaited.push_back(step);
    else
      return Status::internal("the sync waits for more parts of slice ", piece.slice->id, " than ",
                              piece.awaited.size());
  }
  return {};
}

Status Exchanges::send(Piece& piece, const SyncStep& step) {
  if (step.peer == setup_.rank) return Status::internal("the sync sends to itself");
  ++piece.untaken;
  const std::span<const float> row = step.made ? piece.made : piece.begun;
  const auto first = static_cast<std::size_t>(step.first);
  return send_part(step.peer, *piece.slice, row.subspan(first, static_cast<std::size_t>(step.count)),
                   {.step = step.round, .samples = {first}, .version = piece.number});
}

Result<bool> Exchanges::go_on(Piece& piece) {
  const auto is_here = [&](const SyncStep& step) {
    return std::ranges::find_if(piece.letters, [&](const Message& letter) {
      return letter.version == piece.number && letter.seat == setup_.servers[step.peer].seat &&
             letter.step == step.round;
    });
  };
  for (std::size_t a = 0; a < piece.awaited.size();) {
    const SyncStep step = piece.awaited[a];
    const auto found = is_here(step);
    if (found == piece.letters.end()) {
      ++a;
      continue;
    }
    const Message letter = *found;
    piece.letters.erase(found);
    piece.awaited.erase(piece.awaited.begin() + static_cast<std::ptrdiff_t>(a));
    if (letter.samples != SampleRange{static_cast<std::uint64_t>(step.first), static_cast<std::uint32_t>(step.count)})
      return Status::corrupt("server group ", step.peer, " sends another part of slice ", piece.slice->id,
                             " than is awaited");
    DLHOST_ASSIGN(const auto values, read(*piece.slice, letter, step.peer));
    apply(step, values.data(), piece.made);
    DLHOST_TRY(setup_.send(
        letter.seat, {.word = Word::taken, .epoch = setup_.epoch, .slice = piece.slice->id, .version = piece.number}));
    steps_.clear();
    setup_.activity->enter(setup_.actor, "arrived", piece.number);
    piece.exchange->arrived(step.peer, step.round, steps_);
    setup_.activity->leave();
    DLHOST_TRY(follow(piece));
    a = 0; // what it waits for now may be here already
  }
  if (piece.done && !piece.awaited.empty())
    return Status::internal("the sync is done with slice ", piece.slice->id, " while it waits for parts of it");
  return piece.done && piece.untaken == 0;
}

Result<GroupSync::News> Exchanges::take(std::size_t which, const Message& message) {
  Piece& piece = pieces_[which];
  const auto from = std::ranges::find(setup_.servers, message.seat, &Neighbour::seat);
  const bool is_now = piece.on && message.version == piece.number, is_next = message.version == piece.number + 1;
  const auto wrong = [&] { return GroupSync::wrong(*piece.slice, message, piece.number); };
  if (from == setup_.servers.end() || message.seat == setup_.servers[setup_.rank].seat) return wrong();
  switch (message.word) {
  case Word::call:
    if (message.version <= piece.number) return News::none; // it has joined already
    if (!is_next || setup_.in_step) return wrong();
    piece.called = true;
    return piece.on ? News::none : News::join;
  case Word::part:
    if (!is_now && !is_next) return wrong();
    if (piece.letters.size() == piece.letters.capacity())
      return Status::corrupt("more parts of slice ", piece.slice->id, " come than any sync sends");
    piece.letters.push_back(message);
    break;
  case Word::taken:
    if (!is_now || piece.untaken == 0) return wrong();
    --piece.untaken;
    break;
  default: return wrong();
  }
  if (!is_now) return News::none; // its neighbour has called before, or it is due here soon
  DLHOST_ASSIGN(const bool over, go_on(piece));
  return over ? News::over : News::none;
}

Status Exchanges::conclude(std::size_t which, Version now, const float* from, float* to) {
  Piece& piece = pieces_[which];
  piece.on = false;
  if (ledger_) DLHOST_TRY(ledger_->exchanged(which, piece.number, piece.at, now));
  const bool moved = piece.moved || now != piece.at;
  if (moved) // back to the value that it began with
    for (std::size_t i = 0; i < piece.begun.size(); ++i) piece.begun[i] += piece.common[i];
  const float weight = setup_.sync->traits().averages ? 1.0F / static_cast<float>(setup_.servers.size()) : 1.0F;
  const float *const made = piece.made.data(), *const begun = piece.begun.data();
  float* const common = piece.common.data();
  setup_.activity->enter(setup_.actor, "outer", piece.number);
  const Status status = piece.outer->run(
      {.from = common, .to = common, .gradients = {&made, 1}, .count = piece.number, .rate = 1, .weight = weight}, {});
  setup_.activity->leave();
  DLHOST_TRY(status);
  if (!moved) {
    std::copy_n(common, piece.common.size(), to);
    return {};
  }
  for (std::size_t i = 0; i < piece.begun.size(); ++i) piece.begun[i] = common[i] - piece.begun[i];
  const Racing racing(from == to); // its readers mean it
  return piece.shift->run({.from = from, .to = to, .gradients = {&begun, 1}, .count = 1}, {});
}

// In step, nobody has learned anything where this one has not.
bool Exchanges::align(std::size_t which, Version now) {
  Piece& piece = pieces_[which];
  const bool news = !setup_.in_step || now != piece.at;
  piece.aligned = piece.number + (news ? 1 : 0);
  return news && !piece.on;
}

bool Exchanges::is_aligned() const {
  return std::ranges::all_of(pieces_, [](const Piece& piece) {
    return piece.number > piece.aligned || (piece.number == piece.aligned && !piece.on);
  });
}

} // namespace dlhost::param
