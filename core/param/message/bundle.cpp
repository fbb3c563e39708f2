#include "param/message/bundle.h"

#include <algorithm>
#include <cstring>

namespace dlhost::param {
namespace {

// The header of each message on the wire.
struct Prefix {
  std::uint32_t mirror = 0, count = 0;
  std::uint64_t offset = 0;
};
static_assert(sizeof(Prefix) == Bundle::prefix_bytes);

} // namespace

void Bundle::add(std::span<const std::byte, message_bytes> message, const Attachment& enclosure) {
  const Prefix prefix{enclosure.mirror, static_cast<std::uint32_t>(enclosure.bytes.size()), enclosure.offset};
  std::byte* to = room_.data() + at_;
  std::memcpy(to, &prefix, sizeof prefix);
  to = std::copy(message.begin(), message.end(), to + sizeof prefix);
  to = std::copy(enclosure.bytes.begin(), enclosure.bytes.end(), to);
  std::fill(to, room_.data() + at_ + bytes_of(enclosure.bytes.size()), std::byte{});
  at_ += bytes_of(enclosure.bytes.size());
}

Result<BundleReader::Entry> BundleReader::next() {
  Prefix prefix;
  const auto cut_off = [] { return Status::corrupt("a message of another machine is cut off"); };
  if (rest_.size() < sizeof prefix + message_bytes) return cut_off();
  std::memcpy(&prefix, rest_.data(), sizeof prefix);
  if (prefix.count > most_enclosed || rest_.size() < Bundle::bytes_of(prefix.count)) return cut_off();
  Entry entry{.message = rest_.subspan(sizeof prefix, message_bytes), .enclosure = {}};
  entry.enclosure = {prefix.mirror, prefix.offset, rest_.subspan(sizeof prefix + message_bytes, prefix.count)};
  rest_ = rest_.subspan(Bundle::bytes_of(prefix.count));
  return entry;
}

} // namespace dlhost::param
