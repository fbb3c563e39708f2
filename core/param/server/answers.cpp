#include "param/server/answers.h"

#include <span>

namespace dlhost::param {

Status Answers::answer_get(SliceVersions& versions, std::size_t contributor) {
  return send_value(versions, contributor,
                    to_client::Value{.slice = versions.slice().id,
                                     .place = versions.place(),
                                     .history = versions.history(),
                                     .version = versions.newest()});
}

// A worker that looks may save the value. Its ledger lines must be on the disk by then.
Status Answers::answer_look(SliceVersions& versions, std::size_t contributor) {
  DLHOST_TRY(sync_ledger());
  DLHOST_TRY(show_kept(versions, (*setup_.contributors)[contributor].seat));
  return send_value(versions, contributor,
                    to_client::Seen{.slice = versions.slice().id,
                                    .place = versions.place(),
                                    .history = versions.history(),
                                    .version = versions.newest()});
}

Status Answers::answer_settle(const SliceVersions& versions, std::size_t contributor) {
  return (*setup_.send)((*setup_.contributors)[contributor].seat, to_client::Settled{.slice = versions.slice().id});
}

// Another machine gets the value before the message with its version, and only once.
Status Answers::send_value(SliceVersions& versions, std::size_t contributor, const Body& message) {
  const Contributor& asks = (*setup_.contributors)[contributor];
  versions.pin(contributor);
  if (asks.machine == setup_.machine || !versions.show_to(asks.machine)) return (*setup_.send)(asks.seat, message);
  const std::span params(versions.value(), static_cast<std::size_t>(versions.slice().count));
  return (*setup_.send_with)(asks.seat, message, std::as_bytes(params));
}

Status Answers::attest(std::uint32_t from) {
  if (from != leading_seat || !ledger_)
    return Status::corrupt("seat ", from,
                           " asks for a ledger: only the run's leader may do this, and only if the servers keep one");
  DLHOST_TRY(ledger_->sync());
  const LedgerChain& written = ledger_->written();
  return (*setup_.send)(leading_seat, to_worker::Attested{.lines = written.lines(), .digest = written.last()});
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
