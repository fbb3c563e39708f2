#include "program/arenas.h"

#include <algorithm>
#include <cstdint>

namespace dlhost::program {

std::size_t Arenas::alignment(const Device& device) {
  return std::max<std::size_t>(device.traits().alignment, host_alignment);
}

Status Arenas::make(Device& device, Stream& stream, const Footprint& footprint) {
  DLHOST_ASSIGN(arena_, Memory::make(device, footprint.arena + alignment(device)));
  DLHOST_TRY(device.fill_zero(stream, arena_.data(), arena_.size()));
  if (!device.traits().host_memory) far_arena_ = plugin::FarMemory(arena_.data(), arena_.size());
  host_arena_.resize(footprint.host + host_alignment);
  DLHOST_ASSIGN(scratch_, Memory::make(device, footprint.scratch));
  return {};
}

void Arenas::assign(Slots& slots, param::SharedParams* sharing, std::span<std::byte> lent) {
  const auto past = reinterpret_cast<std::uintptr_t>(host_arena_.data()) % host_alignment;
  auto* const host = host_arena_.data() + (host_alignment - past) % host_alignment;
  for (auto& slot : slots) {
    if (slot.offset != SIZE_MAX) slot.data = (slot.on_host ? host : arena_.data()) + slot.offset;
    if (slot.shared) slot.data = sharing->contribution(*slot.shared).data() + slot.shared_at;
    if (slot.lent_at != Slot::not_lent) slot.data = lent.data() + slot.lent_at;
  }
  for (SlotId s = 0; s < slots.count(); ++s) slots[s].data = slots[slots.root(s)].data;
}

} // namespace dlhost::program
