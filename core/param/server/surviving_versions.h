// What outlives a server: of each of its slices, which versions lie whole in the masters, where, and whose steps are in
// them. It lies in memory that others map, beside that of the worker; the server alone writes it. Who reads it while it
// runs may find that it has gone on; whoever survives it reads it when nobody writes any more.
//
// Two versions of a slice are told of, the newest and, until the next is begun, the one before it. A record is written
// while none points to it: a server that dies in the midst of that leaves the newest as it was.
//
// `Memory` names the shared word and copies; tests give one in which the server dies before any word that it writes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include <dlhost/message.h>

namespace dlhost::param {

struct SurvivingVersionsMemory {
  using Word = std::atomic<std::uint64_t>;
  static void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
};
static_assert(SurvivingVersionsMemory::Word::is_always_lock_free,
              "processes share it, and one may be killed at any point");

template <class Memory> class SurvivingVersionsIn {
 public:
  // Of so many slices, and of whom they are made.
  static std::size_t bytes(std::size_t slices, std::size_t contributors) {
    return slices * (sizeof(Head) + records * record_bytes(contributors));
  }
  SurvivingVersionsIn(std::span<std::byte> memory, std::size_t contributors)
      : memory_(memory), contributors_(contributors) {}

  struct Record {
    Version version = 0;
    std::size_t value = 0, history = 0;     // which of the masters'
    std::size_t heard = 0;                  // which row of what came from other server groups is in the value
    std::span<const std::uint64_t> applied; // of each contributor: steps below this one are in it
  };
  // Nothing of that slice is there any more.
  void clear(SliceId slice) { new (of(slice)) Head; }
  // Whole by now.
  void add(SliceId slice, const Record& record) {
    Head& head = this->head(slice);
    const std::uint64_t count = head.count.load(std::memory_order_relaxed);
    std::byte* at = this->record(slice, count);
    const Fixed fixed{record.version, record.value, record.history, record.heard};
    Memory::copy(at, &fixed, sizeof(Fixed));
    if (!record.applied.empty()) Memory::copy(at + sizeof(Fixed), record.applied.data(), record.applied.size_bytes());
    head.count.store(count + 1, std::memory_order_release);
  }

  // The server has begun with it.
  bool has(SliceId slice) const { return head(slice).count.load(std::memory_order_acquire) > 0; }
  Record newest(SliceId slice) const { return read(slice, head(slice).count.load(std::memory_order_acquire) - 1); }
  // That version; not so: it is not there.
  bool find(SliceId slice, Version version, Record& found) const {
    const std::uint64_t count = head(slice).count.load(std::memory_order_acquire);
    if (count == 0 || read(slice, count - 1).version < version) return false; // one that was begun may say that it is
    for (std::uint64_t back = 1; back <= std::min<std::uint64_t>(count, records); ++back)
      if (found = read(slice, count - back); found.version == version) return true;
    return false;
  }

 private:
  static constexpr std::size_t records = 2;
  struct Head {
    typename Memory::Word count{0}; // records so far
  };
  struct Fixed {
    Version version = 0;
    std::uint64_t value = 0, history = 0, heard = 0;
  };
  static std::size_t record_bytes(std::size_t contributors) {
    return sizeof(Fixed) + contributors * sizeof(std::uint64_t);
  }
  std::byte* of(SliceId slice) const { return memory_.data() + slice * bytes(1, contributors_); }
  Head& head(SliceId slice) const { return *std::launder(reinterpret_cast<Head*>(of(slice))); }
  std::byte* record(SliceId slice, std::uint64_t number) const {
    return of(slice) + sizeof(Head) + number % records * record_bytes(contributors_);
  }
  Record read(SliceId slice, std::uint64_t number) const {
    const std::byte* at = record(slice, number);
    const Fixed& fixed = *std::launder(reinterpret_cast<const Fixed*>(at));
    return {fixed.version, fixed.value, fixed.history, fixed.heard,
            std::span(reinterpret_cast<const std::uint64_t*>(at + sizeof(Fixed)), contributors_)};
  }

  std::span<std::byte> memory_;
  std::size_t contributors_;
};

using SurvivingVersions = SurvivingVersionsIn<SurvivingVersionsMemory>;

} // namespace dlhost::param
