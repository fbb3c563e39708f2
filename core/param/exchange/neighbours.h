// The servers of the same slices in all server groups, for one of them, and the messages that it sends to them. Its
// neighbours read the parts that it sends in its worker's memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dlhost/sync.h>

#include "param/codec/coder.h"
#include "param/message/protocol.h"
#include "param/table/slices.h"
#include "plugin/activity.h"

namespace dlhost::param {

struct Neighbours {
  struct One {
    std::uint32_t seat = 0;
    std::span<std::byte> memory;
    std::uint32_t machine = 0;
  };
  std::uint32_t rank = 0;      // of this server's group
  std::vector<One> all;        // by group, with this server
  std::span<std::byte> memory; // of this worker; the rows are in it from `place` on
  std::size_t place = 0;
  const Sync* sync = nullptr;
  const plugin::Actor* actor = nullptr;
  plugin::Activity* activity = nullptr;
  CodecUse codec; // coding: null if parts are not encoded
  std::uint64_t seed = 0;
  record::Traffic* traffic = nullptr; // counts the encoded bytes
  // Sends a message. `part`, which is empty but for `Part`, is a part of this worker's memory: the receiver can read it
  // at the message's place when the message arrives.
  std::function<Status(std::uint32_t seat, const ToNeighbour&, std::span<const std::byte> part)> send;

  std::uint32_t count() const { return static_cast<std::uint32_t>(all.size()); }
  // The rank of a seat. None: it is this server's, or no neighbour's.
  std::optional<std::uint32_t> rank_of(std::uint32_t seat) const;
  std::optional<std::uint32_t> seat_of(std::optional<std::uint32_t> of) const {
    return of ? std::optional(all[*of].seat) : std::nullopt;
  }
  // `hosts`: memory that the result refers to.
  Sync::Ranks ranks(std::vector<std::uint32_t>& hosts) const;

  // Takes the next bytes of this worker's memory, from the beginning of a cache line.
  std::span<std::byte> take(std::size_t bytes);
  // Takes memory for a row of a slice.
  std::span<float> row(const Slice&);
  Status tell(std::uint32_t whom, const ToNeighbour&) const;
  // Sends `part` of a row, or of the message that it is encoded in. Sets the message's slice and place.
  Status send_part(std::uint32_t whom, const Slice&, std::span<const std::byte> part, to_neighbour::Part) const;
  // The part that a neighbour's message names. Errors: corrupt if it is outside of the neighbour's memory or the slice.
  Result<std::span<const float>> read(const Slice&, const to_neighbour::Part&, std::uint32_t whose) const;
  // The neighbour's memory from the message's place on, if parts are encoded.
  Result<std::span<const std::byte>> read_encoded(const Slice&, const to_neighbour::Part&, std::uint32_t whose) const;
};

// An error: the message of that seat does not fit the exchange in which this server is.
Status does_not_fit(const ToNeighbour&, std::uint32_t from, std::uint64_t exchange);

} // namespace dlhost::param
