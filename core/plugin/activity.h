// What each task is doing, written so cheaply that every layer call can say it, and read by the fault handler when a
// plugin crashes or hangs. A task claims a slot for its life; entering and leaving are a few stores.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <dlhost/kind.h>

namespace dlhost::plugin {

// Who may be at work. Made once, when something is prepared, and never freed: a handler may look at it at any time.
struct Actor {
  const char* kind;     // "layer"
  const char* instance; // "cube1"; empty while a library is loaded
  const char* plugin;   // "cube"
  const char* path;     // "/path/cube.so"; empty: part of dlhost itself
};
const Actor* remember(std::string_view kind, std::string_view instance, std::string_view plugin, std::string_view path);
// A text that lives as long as the process; equal texts are one.
const char* immortal(std::string_view);

namespace detail {
struct alignas(64) ActivitySlot {
  std::atomic<const Actor*> actor{nullptr}; // null: not inside a plugin
  std::atomic<const char*> phase{nullptr};
  std::atomic<std::uint64_t> step{0};
  std::atomic<std::uint64_t> entered{0}; // how often: what a hang does not change
  std::atomic<int> thread{0};            // as the kernel numbers it; 0: the slot is free
  std::atomic<std::uint64_t> order{0};   // of claiming
};
inline constexpr std::size_t slot_count = 1024;
extern std::array<ActivitySlot, slot_count> activity_slots;
} // namespace detail

inline constexpr std::uint64_t no_step = ~std::uint64_t{0};

// A copy of what a slot said.
struct Doing {
  const Actor* actor = nullptr; // null: in no plugin
  const char* phase = nullptr;
  std::uint64_t step = 0;
};
inline Doing read_slot(const detail::ActivitySlot& slot) noexcept {
  return {slot.actor.load(std::memory_order_acquire), slot.phase.load(std::memory_order_relaxed),
          slot.step.load(std::memory_order_relaxed)};
}

class Activity {
 public:
  // For the calling task; gives its thread an alternate stack for signals where it has none. When more tasks than slots
  // exist, the last ones go unnamed.
  Activity();
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  // `phase` is a literal, or otherwise immortal: "compute_feature".
  void enter(const Actor* actor, const char* phase, std::uint64_t step = no_step) noexcept {
    slot_->phase.store(phase, std::memory_order_relaxed);
    slot_->step.store(step, std::memory_order_relaxed);
    slot_->entered.store(slot_->entered.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    slot_->actor.store(actor, std::memory_order_release); // the watchdog, another thread, reads what it points to
  }
  void leave() noexcept { slot_->actor.store(nullptr, std::memory_order_relaxed); }
  Doing doing() const noexcept { return read_slot(*slot_); }

 private:
  detail::ActivitySlot* slot_;
  void* own_stack_ = nullptr; // the alternate stack, when this made it
};

} // namespace dlhost::plugin
