// A server's answers to requests, and the bytes that are shown to other machines before them.
#include <algorithm>
#include <utility>

#include "param/server/shard.h"

namespace dlhost::param {

// True if contributions are due (they are in no version yet), the asked version does not exist, or an exchange is on.
bool Shard::is_unsettled(const Owned& owned, const Asked& asked) const {
  return owned.maker->is_due() || owned.versions.newest() < asked.at_least ||
         (asked.word == Word::look && (owned.exchanged || is_on(owned)));
}

Status Shard::asked(Owned& owned, const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message));
  const Asked asked{contributor, message.word, message.version};
  if (!is_unsettled(owned, asked)) return answer_asked(owned, asked);
  if (owned.asked.size() == owned.asked.capacity())
    return Status::corrupt("worker ", message.rank, " of group ", message.group,
                           " has too many open requests for slice ", message.slice);
  owned.asked.push_back(asked);
  return {};
}

Status Shard::answer_asked(Owned& owned, const Asked& asked) {
  return answer(owned, asked.contributor, asked.word == Word::settle ? Word::settled : Word::seen);
}

// Answers the requests that waited for the slice to settle.
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

// A get also means that the worker no longer reads the version before.
Status Shard::get(Owned& owned, const Message& message) {
  DLHOST_ASSIGN(const std::size_t contributor, contributors_.index_of(message));
  if (std::ranges::find(owned.waiting, contributor, &Waiting::contributor) != owned.waiting.end())
    return Status::corrupt("worker ", message.rank, " of group ", message.group, " asks twice for slice ",
                           message.slice);
  owned.versions.unpin(contributor);
  // A worker whose step was dropped must not wait for a version without it: perhaps no other worker makes that version.
  const bool dropped = choices_ && choices_->is_late(contributor, message.step);
  owned.waiting.push_back({contributor, dropped ? 0 : message.version});
  return answer_waiting(owned);
}

Status Shard::answer_waiting(Owned& owned) {
  if (sync_ && sync_->in_step() && is_on(owned)) return {}; // all continue from the common value
  for (std::size_t w = 0; w < owned.waiting.size();) {
    const Waiting waiting = owned.waiting[w];
    if (owned.decisions->is_undecided(waiting.contributor)) {
      ++w;
      continue;
    }
    if (owned.decisions->on_get(waiting.contributor, waiting.at_least) == GetVerdict::wait) {
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
  const std::uint64_t made = owned.decisions->arrived(asks);
  const std::uint64_t staleness = owned.decisions->traits().staleness;
  if (owned.decisions->traits().may_drop || made <= staleness) return {};
  for (std::size_t c = 0; c < contributors_.size(); ++c)
    if (contributors_.makes_steps(c) && owned.versions.contains(c) < made - staleness)
      return Status::internal("the consistency handler answers ", named(asks, owned), ", after ", made,
                              " steps, though step ", owned.versions.contains(c), " of ", named(c, owned),
                              " is not in: its traits promise a staleness of ", staleness);
  return {};
}

// A worker that looks may save the value. Its ledger lines must be on the disk by then.
Status Shard::answer(Owned& owned, std::size_t contributor, Word word) {
  const Contributor& asks = contributors_[contributor];
  if (ledger_ && word == Word::seen) DLHOST_TRY(ledger_->sync());
  const Message message{.word = word,
                        .slice = owned.slice->id,
                        .group = asks.group,
                        .rank = asks.rank,
                        .step = owned.versions.history(),
                        .version = owned.versions.newest(),
                        .place = owned.versions.place()};
  if (word == Word::settled) return setup_.send(asks.seat, message);
  owned.versions.pin(contributor);
  if (word == Word::seen) DLHOST_TRY(show_kept(owned, asks.seat));
  // Another machine gets the value before the message with its version, and only once.
  if (asks.machine == setup_.machine || !owned.versions.show_to(asks.machine)) return setup_.send(asks.seat, message);
  const std::span params(owned.versions.value(), static_cast<std::size_t>(owned.slice->count));
  return setup_.send_with(asks.seat, message, std::as_bytes(params));
}

// The leader stores the ledger's head in a checkpoint.
Status Shard::attest(const Message& message) {
  if (message.seat != leading_seat || !ledger_)
    return Status::corrupt("seat ", message.seat,
                           " asks for a ledger: only the run's leader may do this, and only if the servers keep one");
  DLHOST_TRY(ledger_->sync());
  const LedgerChain& written = ledger_->written();
  return setup_.send(leading_seat, {.word = Word::attested, .step = written.lines(), .version = written.last()});
}

// Shows histories and shared rows to a seat that is about to save them.
Status Shard::show_kept(const Owned& owned, std::uint32_t seat) {
  if (!setup_.show) return {};
  const Slice& slice = *owned.slice;
  const auto show = [&](std::span<const std::byte> row) {
    return setup_.show(seat, owned.versions.part_of(row), record::Cargo::state);
  };
  for (std::size_t slot = 0; slot < owned.versions.param().slots; ++slot)
    DLHOST_TRY(show(setup_.masters->history(slice.param, slot, owned.versions.history())));
  for (std::size_t row = 0; row < setup_.masters->copies().shared; ++row)
    DLHOST_TRY(show(setup_.masters->shared(slice.param, row)));
  const CodecUse* codec = setup_.sync ? &setup_.sync->neighbours.codec : nullptr;
  if (!codec || !codec->coding) return {};
  for (const auto left_out : codec->coding->kept_of(setup_.sync->neighbours.memory, slice.id))
    DLHOST_TRY(setup_.show_own(seat, left_out));
  return {};
}

} // namespace dlhost::param
