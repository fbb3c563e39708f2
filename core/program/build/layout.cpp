#include "program/build/layout.h"

#include <algorithm>
#include <map>
#include <set>

#include "program/arenas.h"

namespace dlhost::program {
namespace {

// The most memory that an op needs while it runs: all ops use the same.
std::size_t scratch_of(const std::vector<Unit>& units, const std::vector<Link>& links, const ExpandedSteps& steps) {
  std::size_t scratch = 1;
  for (const auto& unit : units) scratch = std::max(scratch, unit.scratch);
  for (const auto& op : steps.ops) scratch = std::max(scratch, op->scratch_bytes);
  for (const auto& link : links)
    for (const auto* op : {link.forward.get(), link.backward.get()})
      if (op) scratch = std::max(scratch, op->scratch_bytes);
  return scratch;
}

// Adds the memory of each unit's params, with their histories and copies, that no earlier program has.
void note_params(std::vector<Footprint::Part>& parts, const std::vector<Unit>& units, const param::Store& store) {
  std::set<const param::Param*> counted;
  for (std::size_t u = 0; u < units.size(); ++u) {
    const Unit& unit = units[u];
    for (const auto* param : unit.params)
      if (counted.insert(param).second) parts[u].params += store.missing(*param);
    for (const auto& buffer : unit.buffers) {
      if (buffer.state) parts[u].params += store.missing(*buffer.state);
      for (const auto* carried : buffer.carried) parts[u].params += store.missing(*carried);
    }
  }
}

} // namespace

void Layout::place(const std::vector<Replacement>& replacements, int steps) {
  join_lives();
  reuse_in_place(replacements);
  std::vector<Block> device_blocks, host_blocks;
  std::vector<std::pair<SlotId, std::size_t>> device_slots, host_slots;
  for (SlotId s = 0; s < slots_.count(); ++s) {
    const Slot& slot = slots_[s];
    if (slot.alias != no_slot || slot.is_apart()) continue;
    if (slot.last < 0 && !slot.kept) continue; // no step touches it
    Block block{.bytes = std::max<std::size_t>(slot.bytes, 1), .first = slot.first, .last = slot.last};
    if (slot.kept) block.first = 0, block.last = steps;
    auto& blocks = slot.on_host ? host_blocks : device_blocks;
    (slot.on_host ? host_slots : device_slots).emplace_back(s, blocks.size());
    blocks.push_back(block);
  }
  arena_ = program::place(device_blocks, Arenas::alignment(device_));
  host_ = program::place(host_blocks, Arenas::host_alignment);
  for (auto [slot, block] : device_slots) slots_[slot].offset = device_blocks[block].offset;
  for (auto [slot, block] : host_slots) slots_[slot].offset = host_blocks[block].offset;
  for (auto [slot, block] : device_slots) placed_.emplace_back(slot, device_blocks[block]);
}

// Slots in the same place live as long as the longest of them.
void Layout::join_lives() {
  for (SlotId s = 0; s < slots_.count(); ++s) {
    const Slot& slot = slots_[s];
    if (slot.alias == no_slot) continue;
    Slot& holder = slots_[slots_.root(s)];
    holder.first = std::min(holder.first, slot.first);
    holder.last = std::max(holder.last, slot.last);
    holder.kept = holder.kept || slot.kept;
  }
}

// A result takes the place of an operand if the step that makes it is the operand's last reader.
void Layout::reuse_in_place(const std::vector<Replacement>& replacements) {
  for (const auto& candidate : replacements) {
    const SlotId written = slots_.root(candidate.written), read = slots_.root(candidate.read);
    Slot& to = slots_[written];
    Slot& from = slots_[read];
    if (written == read || to.is_apart() || from.is_apart() || to.kept || from.kept) continue;
    if (from.last != candidate.step || to.first != candidate.step) continue;
    if (to.bytes != from.bytes || to.on_host != from.on_host) continue;
    to.alias = read;
    from.last = std::max(from.last, to.last);
  }
}

// Adds each layer's part of the arena at its fullest step. The last part is that of core's own steps.
void Layout::note_activations(std::vector<Footprint::Part>& parts, const UnitFrames& frames) const {
  std::map<SlotId, std::size_t> owner; // the first unit that uses the slot
  for (const auto& at : frames)
    for (const auto* slots : {&at.output_slots, &at.buffer_slots, &at.param_gradient_slots, &at.input_gradient_slots})
      for (const SlotId slot : *slots)
        if (slot != no_slot) owner.emplace(slots_.root(slot), at.unit);
  std::vector<Block> blocks;
  for (const auto& [slot, block] : placed_) blocks.push_back(block);
  const int full = fullest(blocks);
  for (const auto& [slot, block] : placed_) {
    if (block.first > full || block.last < full) continue;
    const auto unit = owner.find(slot);
    Footprint::Part& part = unit == owner.end() ? parts.back() : parts[unit->second];
    part.activations += slots_[slot].bytes;
  }
}

std::size_t Layout::param_gradients(const UnitFrames& frames) const {
  std::set<SlotId> of_params;
  for (const auto& at : frames)
    for (const SlotId slot : at.param_gradient_slots)
      if (slot != no_slot) of_params.insert(slots_.root(slot));
  std::vector<Block> gradients;
  for (const auto& [slot, block] : placed_)
    if (of_params.contains(slot)) gradients.push_back(block);
  return alive(gradients, fullest(gradients));
}

Footprint Layout::footprint(const std::vector<Unit>& units, const std::vector<Link>& links, const ExpandedSteps& steps,
                            const param::Store& store) const {
  Footprint footprint;
  footprint.arena = arena_;
  footprint.host = host_;
  footprint.scratch = scratch_of(units, links, steps);
  footprint.params = store.missing();
  footprint.param_gradients = param_gradients(steps.frames);
  for (const auto& [slot, block] : placed_) footprint.unshared += block.bytes;
  auto& parts = footprint.parts;
  for (const auto& unit : units) parts.push_back({.layer = unit.described->name});
  parts.emplace_back();
  note_activations(parts, steps.frames);
  note_params(parts, units, store);
  std::erase_if(parts, [](const Footprint::Part& part) { return part.activations + part.params == 0; });
  return footprint;
}

} // namespace dlhost::program
