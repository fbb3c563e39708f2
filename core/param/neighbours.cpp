#include "param/neighbours.h"

#include <algorithm>

#include "param/table_memory.h"

namespace dlhost::param {

std::optional<std::uint32_t> Neighbours::rank_of(std::uint32_t seat) const {
  for (std::uint32_t other = 0; other < count(); ++other)
    if (other != rank && all[other].seat == seat) return other;
  return {};
}

std::unique_ptr<Exchange> Neighbours::join(std::int64_t elements) const {
  std::vector<std::uint32_t> hosts;
  for (const One& one : all) hosts.push_back(one.machine);
  return sync->join({rank, count(), hosts}, elements);
}

std::span<float> Neighbours::row(const Slice& slice) {
  const auto elements = static_cast<std::size_t>(slice.count);
  std::byte* first = memory.data() + take_lines(place, elements * sizeof(float));
  return {reinterpret_cast<float*>(first), elements};
}

Status Neighbours::tell(std::uint32_t whom, const Message& message) const { return send(all[whom].seat, message, {}); }

Status Neighbours::send_part(std::uint32_t whom, const Slice& slice, std::span<const float> part,
                             Message message) const {
  message.word = Word::part;
  message.epoch = epoch;
  message.slice = slice.id;
  message.samples.count = static_cast<std::uint32_t>(part.size());
  message.place = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(part.data()) - memory.data());
  return send(all[whom].seat, message, std::as_bytes(part));
}

Result<std::span<const float>> Neighbours::read(const Slice& slice, const Message& message, std::uint32_t whose) const {
  const auto theirs = all[whose].memory;
  const auto elements = static_cast<std::uint64_t>(slice.count);
  const std::size_t bytes = std::size_t{message.samples.count} * sizeof(float);
  if (message.samples.first > elements || message.samples.count > elements - message.samples.first ||
      bytes > theirs.size() || message.place > theirs.size() - bytes || message.place % sizeof(float) != 0)
    return Status::corrupt("server group ", whose, " sends a part of slice ", slice.id, " that lies at ", message.place,
                           ", outside of its memory of ", theirs.size(), " bytes, or of the slice");
  return std::span(reinterpret_cast<const float*>(theirs.data() + message.place), message.samples.count);
}

Status Neighbours::wrong(const Slice& slice, const Message& message, std::uint64_t number) const {
  return Status::corrupt("seat ", message.seat, " is in exchange ", message.version, " of slice ", slice.id,
                         ", and this server in ", number);
}

} // namespace dlhost::param
