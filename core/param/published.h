// What outlives a server: of each of its slices, which versions lie whole in the masters, where, and whose steps are in
// them. It lies in memory that others map, beside that of the worker; the server alone writes it. Who reads it while it
// runs may find that it has gone on; whoever survives it reads it when nobody writes any more.
//
// Two versions of a slice are told of, the newest and the one before it. A record is written while none points to it:
// a server that dies in the midst of that leaves what was there before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <dlhost/message.h>

namespace dlhost::param {

class Published {
 public:
  // Of so many slices, and of whom they are made.
  static std::size_t bytes(std::size_t slices, std::size_t contributors);
  Published(std::span<std::byte> memory, std::size_t contributors) : memory_(memory), contributors_(contributors) {}

  struct Record {
    Version version = 0;
    std::size_t value = 0, history = 0;     // which of the masters'
    std::size_t heard = 0;                  // which row of what came from other server groups is in the value
    std::span<const std::uint64_t> applied; // of each contributor: steps below this one are in it
  };
  // Nothing of that slice is there any more.
  void clear(SliceId);
  // Whole by now.
  void add(SliceId, const Record&);

  // The server has begun with it.
  bool has(SliceId) const;
  Record newest(SliceId) const;
  // That version; not so: it is not there.
  bool find(SliceId, Version, Record&) const;

 private:
  struct Head {
    std::atomic<std::uint64_t> count{0}; // records so far
  };
  struct Fixed {
    Version version = 0;
    std::uint64_t value = 0, history = 0, heard = 0;
  };
  static std::size_t record_bytes(std::size_t contributors) {
    return sizeof(Fixed) + contributors * sizeof(std::uint64_t);
  }
  std::byte* of(SliceId) const;
  Head& head(SliceId) const;
  std::byte* record(SliceId, std::uint64_t number) const;
  Record read(SliceId, std::uint64_t number) const;

  std::span<std::byte> memory_;
  std::size_t contributors_;
};

} // namespace dlhost::param
