#include "param/exchange/neighbours.h"

#include <algorithm>

#include "param/table/table_memory.h"

namespace dlhost::param {

std::optional<std::uint32_t> Neighbours::rank_of(std::uint32_t seat) const {
  for (std::uint32_t other = 0; other < count(); ++other)
    if (other != rank && all[other].seat == seat) return other;
  return {};
}

Sync::Ranks Neighbours::ranks(std::vector<std::uint32_t>& hosts) const {
  hosts.clear();
  for (const One& one : all) hosts.push_back(one.machine);
  return {rank, count(), hosts};
}

std::span<std::byte> Neighbours::take(std::size_t bytes) { return memory.subspan(take_lines(place, bytes), bytes); }

std::span<float> Neighbours::row(const Slice& slice) {
  const auto elements = static_cast<std::size_t>(slice.count);
  return {reinterpret_cast<float*>(take(elements * sizeof(float)).data()), elements};
}

Status Neighbours::tell(std::uint32_t whom, const ToNeighbour& message) const {
  return send(all[whom].seat, message, {});
}

Status Neighbours::send_part(std::uint32_t whom, const Slice& slice, std::span<const std::byte> part,
                             to_neighbour::Part message) const {
  message.slice = slice.id;
  message.place = static_cast<std::uint64_t>(part.data() - memory.data());
  return send(all[whom].seat, message, part);
}

Result<std::span<const float>> Neighbours::read(const Slice& slice, const to_neighbour::Part& message,
                                                std::uint32_t whose) const {
  const std::span<const std::byte> theirs = all[whose].memory;
  const auto elements = static_cast<std::uint64_t>(slice.count);
  const std::size_t bytes = std::size_t{message.elements.count} * sizeof(float);
  if (message.elements.first > elements || message.elements.count > elements - message.elements.first ||
      bytes > theirs.size() || message.place > theirs.size() - bytes || message.place % sizeof(float) != 0)
    return Status::corrupt("server group ", whose, " sends a part of slice ", slice.id, " that lies at ", message.place,
                           ", outside of its memory of ", theirs.size(), " bytes, or of the slice");
  return std::span(reinterpret_cast<const float*>(theirs.data() + message.place), message.elements.count);
}

Result<std::span<const std::byte>> Neighbours::read_encoded(const Slice& slice, const to_neighbour::Part& message,
                                                            std::uint32_t whose) const {
  const std::span<const std::byte> theirs = all[whose].memory;
  if (message.place > theirs.size())
    return Status::corrupt("server group ", whose, " sends a part of slice ", slice.id, " that lies at ", message.place,
                           ", outside of its memory of ", theirs.size(), " bytes");
  return theirs.subspan(message.place);
}

Status does_not_fit(const ToNeighbour& message, std::uint32_t from, std::uint64_t exchange) {
  return dispatch(
      message,
      [&](const auto& of_exchange) {
        return Status::corrupt("seat ", from, " is in exchange ", of_exchange.exchange, " of slice ", of_exchange.slice,
                               ", and this server in ", exchange);
      },
      [&](const to_neighbour::Recall& recall) {
        return Status::corrupt("seat ", from, " asks for what server group ", recall.lost, " had learned of slice ",
                               recall.slice, ", which this server cannot answer");
      },
      [&](const to_neighbour::Recalled& recalled) {
        return Status::corrupt("seat ", from, " tells what server group ", recalled.lost, " had learned of slice ",
                               recalled.slice, ", which this server did not ask for");
      });
}

} // namespace dlhost::param
