// An endpoint's inbox: a segment with a bell for waking it, and slots in which other endpoints announce their rings to
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "segment.h"

namespace dlhost::plugins::shm {

inline constexpr std::string_view inbox_suffix = ".inbox";

struct Slot {
  enum State : std::uint32_t { free, claimed, announced, accepted };
  std::atomic<std::uint32_t> state{free};
  std::uint32_t ring = 0; // number of the announcer's ring
  std::uint32_t cells = 0, blocks = 0, block = 0;
  char owner[96] = {}; // the announcer
};

struct Inbox {
  static constexpr std::uint64_t this_layout = 0x646c686f73740002; // "dlhost", 2

  // this_layout when complete. Other processes read it during construction, so it keeps the zero of fresh memory until
  // then.
  std::uint64_t layout;
  std::int32_t process = 0;
  std::atomic<std::uint32_t> closed{0};
  alignas(64) std::atomic<std::uint32_t> sleeping{0}; // the sender that resets it rings the bell
  std::atomic<std::uint32_t> bell{0};
  alignas(64) std::atomic<std::uint32_t> announcements{0};
  Slot slots[256];

  void show() { std::atomic_ref(layout).store(this_layout, std::memory_order_release); }
  // Every version has this word at the same place.
  static bool ready(const Segment& segment) {
    return segment.size() >= sizeof(Inbox) &&
           std::atomic_ref(*static_cast<std::uint64_t*>(segment.data())).load(std::memory_order_acquire) == this_layout;
  }
};

// Wakes the inbox' owner if it sleeps. Messages must be visible by then: hence the fence, with its partner in
// ShmEndpoint::sleep(). Only the first caller rings: if that one is stopped before, the owner sleeps until its limit.
void ring_bell(Inbox&);
// Wakes the owner in any case.
void ring_bell_always(Inbox&);
// Sleeps until the bell has rung after `rung`, or for `limit` nanoseconds.
void sleep_until_bell(Inbox&, std::uint32_t rung, std::int64_t limit);

} // namespace dlhost::plugins::shm
