// The tensors of a program. A slot is a tensor with its life: the steps that touch it. The passes of a build add slots
// and extend their lives; the layout then gives each a place, and opening the program gives it memory.
//
// A slot of frame 0 is repeated for each further frame: same tensor, other number. Thread: one.
#pragma once

#include <climits>
#include <cstdint>
#include <vector>

#include <dlhost/device.h>

#include "param/store/store.h"

namespace dlhost::program {

using SlotId = std::int32_t;
inline constexpr SlotId no_slot = -1;

struct Slot {
  TensorDesc desc;
  std::size_t bytes = 0;
  bool on_host = false;                 // in host memory, for a device whose memory the host cannot reach
  bool external = false;                // the feeder's memory, at another address each step
  bool kept = false;                    // read after the step
  const param::Param* shared = nullptr; // lies in this param's contribution, which other workers read; null: none
  std::size_t shared_at = 0;            // offset in the contribution
  static constexpr std::size_t not_lent = SIZE_MAX;
  std::size_t lent_at = not_lent; // offset in the memory that the group's other workers read
  int first = INT_MAX, last = -1; // first and last step that touch it
  SlotId alias = no_slot;         // shares the place of that slot
  std::size_t offset = SIZE_MAX;  // in its arena; SIZE_MAX: unused
  void* data = nullptr;

  // True if it lies outside of the program's arenas.
  bool is_apart() const { return external || shared || lent_at != not_lent; }
};

class Slots {
 public:
  // `device` outlives it.
  explicit Slots(const Device& device) : device_(&device) {}

  SlotId add(const TensorDesc&, bool on_host);
  // Bytes of the device without a form.
  SlotId add_block(std::size_t bytes);
  // Repeats all slots for the frames after the first. Slots that are added later belong to one frame each.
  void repeat(int frames);
  SlotId in_frame(SlotId, int frame) const;

  Slot& operator[](SlotId slot) { return all_[static_cast<std::size_t>(slot)]; }
  const Slot& operator[](SlotId slot) const { return all_[static_cast<std::size_t>(slot)]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  SlotId count() const { return static_cast<SlotId>(all_.size()); }

  // The step touches the slot; no_slot is ignored.
  void touch(SlotId, int step);
  // The slot whose place this one shares: itself, if it has a place of its own.
  SlotId root(SlotId) const;
  // True if a source's output is delivered ahead to device memory that the host cannot reach.
  bool is_delivered(SlotId) const;

 private:
  const Device* device_;
  std::vector<Slot> all_;
  SlotId in_a_frame_ = 0;
};

} // namespace dlhost::program
