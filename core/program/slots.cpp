#include "program/slots.h"

#include <algorithm>

namespace dlhost::program {

SlotId Slots::add(const TensorDesc& desc, bool on_host) {
  Slot slot;
  slot.desc = desc;
  slot.bytes = on_host ? desc.plain_bytes() : device_->bytes(desc);
  slot.on_host = on_host;
  all_.push_back(slot);
  return count() - 1;
}

SlotId Slots::add_block(std::size_t bytes) {
  Slot slot;
  slot.bytes = bytes;
  all_.push_back(slot);
  return count() - 1;
}

void Slots::repeat(int frames) {
  in_a_frame_ = count();
  for (int f = 1; f < frames; ++f)
    for (SlotId s = 0; s < in_a_frame_; ++s) {
      Slot slot = (*this)[s];
      slot.alias = in_frame(slot.alias, f);
      all_.push_back(slot);
    }
}

SlotId Slots::in_frame(SlotId slot, int frame) const { return slot == no_slot ? slot : slot + frame * in_a_frame_; }

void Slots::touch(SlotId slot, int step) {
  if (slot == no_slot) return;
  Slot& touched = (*this)[slot];
  touched.first = std::min(touched.first, step);
  touched.last = std::max(touched.last, step);
}

SlotId Slots::root(SlotId slot) const {
  while ((*this)[slot].alias != no_slot) slot = (*this)[slot].alias;
  return slot;
}

bool Slots::is_delivered(SlotId slot) const {
  const Slot& output = (*this)[slot];
  return output.external && !output.on_host && !device_->traits().host_memory;
}

} // namespace dlhost::program
