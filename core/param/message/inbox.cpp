#include "param/message/inbox.h"

#include <algorithm>
#include <limits>

namespace dlhost::param {

void Inbox::know(std::uint32_t number, std::span<std::byte> mirror) {
  if (number >= mirrors_.size()) mirrors_.resize(number + 1);
  mirrors_[number] = mirror;
}

Result<Inbox::Finding> Inbox::open(const BundleReader::Entry& entry, std::uint32_t from, Message& message) {
  DLHOST_ASSIGN(message, read_message(entry.message));
  if (message.epoch != epoch_) {
    ++stale_;
    return Finding::dropped;
  }
  const auto missing = static_cast<std::uint16_t>(message.sequence - heard_[from]);
  if (missing > std::numeric_limits<std::uint16_t>::max() / 2) return Finding::dropped; // a repeated message
  if (missing > 0) return Finding::missing;
  ++heard_[from];
  if (!entry.enclosure.bytes.empty()) DLHOST_TRY(copy(entry.enclosure, from));
  return Finding::valid;
}

Status Inbox::copy(const Attachment& enclosure, std::uint32_t from) {
  const auto& [number, offset, bytes] = enclosure;
  const auto mirror = number < mirrors_.size() ? mirrors_[number] : std::span<std::byte>();
  if (bytes.size() > mirror.size() || offset > mirror.size() - bytes.size())
    return Status::corrupt("worker ", from, " sends bytes for mirror ", number, " of worker ", seat_,
                           ", outside of the mirror's memory");
  std::copy(bytes.begin(), bytes.end(), mirror.begin() + static_cast<std::ptrdiff_t>(offset));
  return {};
}

} // namespace dlhost::param
