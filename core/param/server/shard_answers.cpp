// What a server is asked, and when it answers; what those of other machines are shown first.
#include <algorithm>
#include <utility>

#include "param/server/shard.h"

namespace dlhost::param {

// What is due is not dealt with yet, and is in no version; what is exchanged is in no value.
bool Shard::is_unsettled(const Owned& owned, const Asked& asked) const {
  return !owned.due.empty() || owned.version < asked.at_least ||
         (asked.word == Word::look && (owned.exchanged || is_on(owned)));
}

Status Shard::asked(Owned& owned, const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, this->contributor(message));
  const Asked asked{contributor, message.word, message.version};
  if (!is_unsettled(owned, asked)) return answer_asked(owned, asked);
  if (owned.asked.size() == owned.asked.capacity())
    return Status::corrupt("worker ", message.rank, " of group ", message.group, " asks again and again for slice ",
                           message.slice);
  owned.asked.push_back(asked);
  return {};
}

Status Shard::answer_asked(Owned& owned, const Asked& asked) {
  return answer(owned, asked.contributor, asked.word == Word::settle ? Word::settled : Word::seen);
}

// Whoever waited for what was under way.
Status Shard::answer_settled(Owned& owned) {
  for (std::size_t a = 0; a < owned.asked.size();) {
    if (is_unsettled(owned, owned.asked[a])) {
      ++a;
      continue;
    }
    DLHOST_TRY(answer_asked(owned, owned.asked[a]));
    owned.asked.erase(owned.asked.begin() + static_cast<std::ptrdiff_t>(a));
  }
  return {};
}

// Who asks has done with what it read before.
Status Shard::get(Owned& owned, const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, this->contributor(message));
  if (std::ranges::find(owned.waiting, contributor, &Waiting::contributor) != owned.waiting.end())
    return Status::corrupt("worker ", message.rank, " of group ", message.group, " asks twice for slice ",
                           message.slice);
  owned.read[contributor] = nothing;
  // Whose step was dropped is not to wait for what it has no part in: perhaps nobody else makes it.
  const bool dropped = traits_.by_step && message.step < forgotten_[contributor];
  owned.waiting.push_back({contributor, dropped ? 0 : message.version});
  return answer_waiting(owned);
}

Status Shard::answer_waiting(Owned& owned) {
  if (sync_ && sync_->in_step() && is_on(owned)) return {}; // all go on from the common value
  for (std::size_t w = 0; w < owned.waiting.size();) {
    const Waiting waiting = owned.waiting[w];
    if (is_undecided(owned, waiting.contributor)) {
      ++w;
      continue;
    }
    const Contributor& asks = setup_.contributors[waiting.contributor];
    setup_.activity->enter(owned.handler->actor, "on_get");
    const auto verdict =
        owned.handler->consistency->on_get(state(owned, waiting.contributor), asks.group, asks.rank, waiting.at_least);
    setup_.activity->leave();
    if (verdict == GetVerdict::wait) {
      ++w;
      continue;
    }
    DLHOST_TRY(is_fresh(owned, waiting.contributor));
    owned.waiting.erase(owned.waiting.begin() + static_cast<std::ptrdiff_t>(w));
    DLHOST_TRY(answer(owned, waiting.contributor, Word::value));
  }
  return {};
}

Status Shard::is_fresh(const Owned& owned, std::size_t asks) const {
  const std::uint64_t made = owned.accepted[asks];
  const std::uint64_t staleness = owned.traits.staleness;
  if (owned.traits.may_drop || made <= staleness) return {};
  for (std::size_t c = 0; c < owned.applied.size(); ++c)
    if (in_[c] && owned.applied[c] < made - staleness)
      return Status::internal("the consistency handler answers ", named(asks, *owned.slice), ", after ", made,
                              " steps, though step ", owned.applied[c], " of ", named(c, *owned.slice),
                              " is not in: its traits promise a staleness of ", staleness);
  return {};
}

// Who looks may keep what it sees: what it was made of is written down by then.
Status Shard::answer(Owned& owned, std::size_t contributor, Word word) {
  const Contributor& asks = setup_.contributors[contributor];
  if (ledger_ && word == Word::seen) DLHOST_TRY(ledger_->sync());
  const Message message{.word = word,
                        .slice = owned.slice->id,
                        .group = asks.group,
                        .rank = asks.rank,
                        .step = owned.history,
                        .version = owned.version,
                        .place = owned.current};
  if (word == Word::settled) return setup_.send(asks.seat, message);
  owned.read[contributor] = owned.current;
  if (word == Word::seen) DLHOST_TRY(show_kept(owned, asks.seat));
  // Another machine is to have the value before it hears of the version, and once.
  if (asks.machine == setup_.machine || std::exchange(owned.shown[asks.machine], owned.revision) == owned.revision)
    return setup_.send(asks.seat, message);
  const std::span params(value(owned, owned.current), static_cast<std::size_t>(owned.slice->count));
  return setup_.send_with(asks.seat, message, std::as_bytes(params));
}

// Who asks names it in what it saves.
Status Shard::attest(const Message& message) {
  if (message.seat != leading_seat || !ledger_)
    return Status::corrupt("seat ", message.seat,
                           " asks for a ledger, which the run's leader alone does, of servers "
                           "that keep one");
  DLHOST_TRY(ledger_->sync());
  const LedgerChain& written = ledger_->written();
  return setup_.send(leading_seat, {.word = Word::attested, .step = written.lines(), .version = written.last()});
}

// Whoever wants to keep what all have.
Status Shard::show_kept(const Owned& owned, std::uint32_t seat) {
  if (!setup_.show) return {};
  const Slice& slice = *owned.slice;
  const auto part = [&](std::span<const std::byte> row) {
    return row.subspan(static_cast<std::size_t>(slice.first) * sizeof(float),
                       static_cast<std::size_t>(slice.count) * sizeof(float));
  };
  const Param& param = *setup_.store->params()[slice.param];
  for (std::size_t slot = 0; slot < param.slots; ++slot)
    DLHOST_TRY(
        setup_.show(seat, part(setup_.masters->history(slice.param, slot, owned.history)), record::Cargo::state));
  for (std::size_t row = 0; row < setup_.masters->copies().shared; ++row)
    DLHOST_TRY(setup_.show(seat, part(setup_.masters->shared(slice.param, row)), record::Cargo::state));
  const CodecUse* codec = setup_.sync ? &setup_.sync->neighbours.codec : nullptr;
  if (!codec || !codec->coding) return {};
  for (const auto left_out : codec->coding->kept_of(setup_.sync->neighbours.memory, slice.id))
    DLHOST_TRY(setup_.show_own(seat, left_out));
  return {};
}

} // namespace dlhost::param
