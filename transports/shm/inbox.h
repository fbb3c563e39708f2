// Where an endpoint is found: a segment with a bell to wake it by, and slots in which others announce the rings that
// they write to it.
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
  std::uint32_t ring = 0; // of the announcer's rings
  std::uint32_t cells = 0, blocks = 0, block = 0;
  char owner[96] = {}; // whose ring it is
};

struct Inbox {
  static constexpr std::uint64_t this_layout = 0x646c686f73740002; // "dlhost", 2

  // this_layout once all of it is there. Others look at it while it is made: it stays the zero that fresh memory has.
  std::uint64_t layout;
  std::int32_t process = 0;
  std::atomic<std::uint32_t> closed{0};
  alignas(64) std::atomic<std::uint32_t> sleeping{0}; // whoever takes this back rings the bell
  std::atomic<std::uint32_t> bell{0};
  alignas(64) std::atomic<std::uint32_t> announcements{0};
  Slot slots[256];

  void show() { std::atomic_ref(layout).store(this_layout, std::memory_order_release); }
  static bool ready(const Segment& segment) {
    return segment.size() >= sizeof(Inbox) && layout_of(segment) == this_layout;
  }
  // Zero: it is being made, and its owner may not have locked it yet. The word is where any version has it.
  static std::uint64_t layout_of(const Segment& segment) {
    if (segment.size() < sizeof(std::uint64_t)) return 0;
    return std::atomic_ref(*static_cast<std::uint64_t*>(segment.data())).load(std::memory_order_acquire);
  }
};

// Wakes the inbox' owner where it sleeps. What was left for it is to be seen by then: hence the fence, whose partner is
// in ShmEndpoint::sleep(). The first who finds it asleep is the only one to ring: should that one be stopped before it
// does, the owner sleeps until its limit.
void ring_bell(Inbox&);
// Wakes it in any case.
void ring_bell_always(Inbox&);
// Sleeps until the bell has rung since `rung`, or for `limit` nanoseconds.
void sleep_until_bell(Inbox&, std::uint32_t rung, std::int64_t limit);

} // namespace dlhost::plugins::shm
