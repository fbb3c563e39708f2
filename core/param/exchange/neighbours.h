// Those that own the same slices in the other server groups, as one of them sees them, and what it tells them. What
// they read of it lies in its worker's memory.
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
  std::vector<One> all;        // group by group, this server as well
  std::span<std::byte> memory; // of this worker, where the rows lie from `place` on
  std::size_t place = 0;
  const Sync* sync = nullptr;
  const plugin::Actor* actor = nullptr;
  plugin::Activity* activity = nullptr;
  CodecUse codec; // of what is exchanged; coding: null where it goes as it is
  std::uint64_t seed = 0;
  record::Traffic* traffic = nullptr; // of what went through it
  // `part` of this worker's memory, which may be empty, is where the message says when it arrives.
  std::function<Status(std::uint32_t seat, const Message&, std::span<const std::byte> part)> send;

  std::uint32_t count() const { return static_cast<std::uint32_t>(all.size()); }
  // Whose seat it is; this one's and strangers': none.
  std::optional<std::uint32_t> rank_of(std::uint32_t seat) const;
  std::optional<std::uint32_t> seat_of(std::optional<std::uint32_t> of) const {
    return of ? std::optional(all[*of].seat) : std::nullopt;
  }
  // `hosts`: room for what the ranks point to.
  Sync::Ranks ranks(std::vector<std::uint32_t>& hosts) const;

  // The next bytes in this worker's memory, from the beginning of a line; and a row for a slice.
  std::span<std::byte> take(std::size_t bytes);
  std::span<float> row(const Slice&);
  Status tell(std::uint32_t whom, const Message&) const;
  // Part of such a row, or a message about it.
  Status send_part(std::uint32_t whom, const Slice&, std::span<const std::byte> part, Message) const;
  // What a neighbour sent; and, where it is encoded, what lies from there on.
  Result<std::span<const float>> read(const Slice&, const Message&, std::uint32_t whose) const;
  Result<std::span<const std::byte>> read_encoded(const Slice&, const Message&, std::uint32_t whose) const;
  Status wrong(const Slice&, const Message&, std::uint64_t number) const;
};

} // namespace dlhost::param
