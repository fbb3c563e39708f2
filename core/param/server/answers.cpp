#include "param/server/answers.h"

#include <span>

namespace dlhost::param {

// A worker that looks may save the value. Its ledger lines must be on the disk by then.
Status Answers::answer(SliceVersions& versions, std::size_t contributor, Word word) {
  const Contributor& asks = (*setup_.contributors)[contributor];
  if (word == Word::seen) DLHOST_TRY(sync_ledger());
  const Message message{.word = word,
                        .slice = versions.slice().id,
                        .group = asks.group,
                        .rank = asks.rank,
                        .step = versions.history(),
                        .version = versions.newest(),
                        .place = versions.place()};
  if (word == Word::settled) return (*setup_.send)(asks.seat, message);
  versions.pin(contributor);
  if (word == Word::seen) DLHOST_TRY(show_kept(versions, asks.seat));
  // Another machine gets the value before the message with its version, and only once.
  if (asks.machine == setup_.machine || !versions.show_to(asks.machine)) return (*setup_.send)(asks.seat, message);
  const std::span params(versions.value(), static_cast<std::size_t>(versions.slice().count));
  return (*setup_.send_with)(asks.seat, message, std::as_bytes(params));
}

Status Answers::attest(const Message& message) {
  if (message.seat != leading_seat || !ledger_)
    return Status::corrupt("seat ", message.seat,
                           " asks for a ledger: only the run's leader may do this, and only if the servers keep one");
  DLHOST_TRY(ledger_->sync());
  const LedgerChain& written = ledger_->written();
  return (*setup_.send)(leading_seat, {.word = Word::attested, .step = written.lines(), .version = written.last()});
}

Status Answers::show_kept(const SliceVersions& versions, std::uint32_t seat) {
  if (!*setup_.show) return {};
  const Slice& slice = versions.slice();
  const auto show = [&](std::span<const std::byte> row) {
    return (*setup_.show)(seat, versions.part_of(row), record::Cargo::state);
  };
  for (std::size_t slot = 0; slot < versions.param().slots; ++slot)
    DLHOST_TRY(show(setup_.masters->history(slice.param, slot, versions.history())));
  for (std::size_t row = 0; row < setup_.masters->copies().shared; ++row)
    DLHOST_TRY(show(setup_.masters->shared(slice.param, row)));
  if (!setup_.coding) return {};
  for (const auto left_out : setup_.coding->kept_of(setup_.exchanged, slice.id))
    DLHOST_TRY((*setup_.show_own)(seat, left_out));
  return {};
}

} // namespace dlhost::param
