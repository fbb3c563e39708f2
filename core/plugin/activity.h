// The current activity of each task. Cheap enough for every layer call: entering and leaving are a few stores. The
// fault handler reads it when a plugin crashes or hangs. A task claims a slot for its life.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <dlhost/kind.h>

namespace dlhost::plugin {

// Which code a task can be in. Made once, when something is prepared, and never freed: a signal handler may read it at
// any time.
struct Actor {
  const char* kind;     // "layer"
  const char* instance; // "cube1"; empty while a library is loaded
  const char* plugin;   // "cube"
  const char* path;     // "/path/cube.so"; empty: part of dlhost itself
};
const Actor* remember(std::string_view kind, std::string_view instance, std::string_view plugin, std::string_view path);
// A copy of the text that lives as long as the process; equal texts share one copy.
const char* immortal(std::string_view);

namespace detail {
struct alignas(64) ActivitySlot {
  std::atomic<const Actor*> actor{nullptr}; // null: not inside a plugin
  std::atomic<const char*> phase{nullptr};
  std::atomic<std::uint64_t> step{0};
  std::atomic<std::uint64_t> entered{0}; // number of calls: it stays the same during a hang
  std::atomic<int> thread{0};            // the kernel's thread number; 0: the slot is free
  std::atomic<std::uint64_t> order{0};   // slots claimed later have higher numbers
};
inline constexpr std::size_t slot_count = 1024;
extern std::array<ActivitySlot, slot_count> activity_slots;
// True in a child process that was made by fork, once forked children are watched.
extern std::atomic<bool> is_forked_child;
// Ends such a child: it returned from a plugin's call into core, where it would go on as a second run.
[[noreturn]] void end_forked_child(const ActivitySlot&) noexcept;
} // namespace detail

// A child process that a plugin forks is ended when its call returns. Called once by main.
void watch_forked_children();

inline constexpr std::uint64_t no_step = ~std::uint64_t{0};

// A copy of a slot.
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
  // Claims a slot for the calling task. Gives its thread an alternate signal stack if it has none. If there are more
  // tasks than slots, the last ones share a slot without a name.
  Activity();
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  // Requires: `phase` is immortal, such as the literal "compute_feature".
  void enter(const Actor* actor, const char* phase, std::uint64_t step = no_step) noexcept {
    end_if_forked();
    slot_->phase.store(phase, std::memory_order_relaxed);
    slot_->step.store(step, std::memory_order_relaxed);
    slot_->entered.store(slot_->entered.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    slot_->actor.store(actor, std::memory_order_release); // release: the watchdog's thread reads the actor's members
  }
  void leave() noexcept {
    end_if_forked();
    slot_->actor.store(nullptr, std::memory_order_relaxed);
  }
  Doing doing() const noexcept { return read_slot(*slot_); }

 private:
  void end_if_forked() const noexcept {
    if (detail::is_forked_child.load(std::memory_order_relaxed)) [[unlikely]]
      detail::end_forked_child(*slot_);
  }

  detail::ActivitySlot* slot_;
  void* own_stack_ = nullptr; // the alternate stack, if this object made it
};

} // namespace dlhost::plugin
