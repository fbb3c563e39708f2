// The builder's third part: which slots share memory, where each lies, and the pointers of every frame.
#include <algorithm>

#include "program/builder_state.h"
#include "program/memory.h"

namespace dlhost::program {

namespace {
constexpr std::size_t host_alignment = 64;
} // namespace

std::size_t Builder::alignment() const {
  return std::max<std::size_t>(program_.device_->traits().alignment, host_alignment);
}

SlotId Builder::root(SlotId slot) const {
  while (program_.slots_[static_cast<std::size_t>(slot)].alias != no_slot)
    slot = program_.slots_[static_cast<std::size_t>(slot)].alias;
  return slot;
}

// What lies in one place lives as long as the longest of it.
void Builder::join_lives() {
  for (std::size_t s = 0; s < program_.slots_.size(); ++s) {
    const Slot& slot = program_.slots_[s];
    if (slot.alias == no_slot) continue;
    Slot& holder = root_slot(static_cast<SlotId>(s));
    holder.first = std::min(holder.first, slot.first);
    holder.last = std::max(holder.last, slot.last);
    holder.kept = holder.kept || slot.kept;
  }
}

// A result takes the place of an operand whose last reader makes it.
void Builder::reuse_in_place() {
  for (const auto& candidate : replacements_) {
    const SlotId written = root(candidate.written), read = root(candidate.read);
    Slot& to = program_.slots_[static_cast<std::size_t>(written)];
    Slot& from = program_.slots_[static_cast<std::size_t>(read)];
    if (written == read || to.external || from.external || to.kept || from.kept) continue;
    if (to.shared || from.shared) continue;
    if (from.last != candidate.step || to.first != candidate.step) continue;
    if (to.bytes != from.bytes || to.on_host != from.on_host) continue;
    to.alias = read;
    from.last = std::max(from.last, to.last);
  }
}

void Builder::place_slots() {
  const int end = here();
  std::vector<Block> device_blocks, host_blocks;
  std::vector<std::pair<Slot*, std::size_t>> device_slots, host_slots;
  for (auto& slot : program_.slots_) {
    if (slot.alias != no_slot || slot.external || slot.shared) continue;
    if (slot.last < 0 && !slot.kept) continue; // nobody ever touches it
    Block block{.bytes = std::max<std::size_t>(slot.bytes, 1), .first = slot.first, .last = slot.last};
    if (slot.kept) block.first = 0, block.last = end;
    auto& blocks = slot.on_host ? host_blocks : device_blocks;
    (slot.on_host ? host_slots : device_slots).emplace_back(&slot, blocks.size());
    blocks.push_back(block);
  }
  program_.footprint_.arena = place(device_blocks, alignment());
  program_.footprint_.host = place(host_blocks, host_alignment);
  for (const auto& block : device_blocks) program_.unshared_bytes_ += block.bytes;
  for (auto [slot, block] : device_slots) slot->offset = device_blocks[block].offset;
  for (auto [slot, block] : host_slots) slot->offset = host_blocks[block].offset;
  for (auto [slot, block] : device_slots) placed_.emplace_back(slot, device_blocks[block]);
}

// Whose the memory is that is in use when most is, and whose the params.
void Builder::note_footprint() {
  std::map<const Slot*, std::size_t> owner; // the first unit that has to do with it
  std::set<const Slot*> of_params;
  for (const auto& at : program_.unit_frames_)
    for (const auto* slots : {&at.output_slots, &at.buffer_slots, &at.param_gradient_slots, &at.input_gradient_slots})
      for (const SlotId slot : *slots)
        if (slot != no_slot) owner.emplace(&root_slot(slot), at.unit);
  for (const auto& at : program_.unit_frames_)
    for (const SlotId slot : at.param_gradient_slots)
      if (slot != no_slot) of_params.insert(&root_slot(slot));
  std::vector<Block> blocks, gradients;
  for (const auto& [slot, block] : placed_) {
    blocks.push_back(block);
    if (of_params.contains(slot)) gradients.push_back(block);
  }
  const int full = fullest(blocks);
  Footprint& footprint = program_.footprint_;
  std::vector<Footprint::Part> parts(program_.units_.size() + 1);
  footprint.param_gradients = alive(gradients, fullest(gradients));
  for (const auto& [slot, block] : placed_) {
    if (block.first > full || block.last < full) continue;
    const auto unit = owner.find(slot);
    parts[unit == owner.end() ? program_.units_.size() : unit->second].activations += slot->bytes;
  }
  std::set<const param::Param*> counted;
  for (std::size_t u = 0; u < program_.units_.size(); ++u) {
    const Unit& unit = program_.units_[u];
    parts[u].layer = unit.described->name;
    for (const auto* param : unit.params)
      if (counted.insert(param).second) parts[u].params += request_.store->missing(*param);
    for (const auto& buffer : unit.buffers) {
      if (buffer.state) parts[u].params += request_.store->missing(*buffer.state);
      for (const auto* carried : buffer.carried) parts[u].params += request_.store->missing(*carried);
    }
  }
  std::erase_if(parts, [](const Footprint::Part& part) { return part.activations + part.params == 0; });
  footprint.parts = std::move(parts);
  footprint.params = request_.store->missing();
}

Status Builder::make_memory() {
  if (request_.sharing) DLHOST_TRY(request_.sharing->open(*request_.store));
  if (request_.others) DLHOST_TRY(request_.others->open(*request_.store));
  DLHOST_ASSIGN(program_.arena_, Memory::make(*program_.device_, program_.footprint_.arena + alignment()));
  DLHOST_TRY(program_.device_->fill_zero(*program_.stream_, program_.arena_.data(), program_.arena_.size()));
  if (!program_.device_->traits().host_memory)
    program_.far_arena_ = plugin::FarMemory(program_.arena_.data(), program_.arena_.size());
  program_.host_arena_.resize(program_.footprint_.host + host_alignment);
  const auto past = reinterpret_cast<std::uintptr_t>(program_.host_arena_.data()) % host_alignment;
  auto* host = program_.host_arena_.data() + (host_alignment - past) % host_alignment;
  for (auto& slot : program_.slots_)
    if (slot.offset != SIZE_MAX) slot.data = (slot.on_host ? host : program_.arena_.data()) + slot.offset;
  for (auto& slot : program_.slots_)
    if (slot.shared) slot.data = request_.sharing->contribution(*slot.shared).data() + slot.shared_at;
  for (std::size_t s = 0; s < program_.slots_.size(); ++s)
    program_.slots_[s].data = root_slot(static_cast<SlotId>(s)).data;
  DLHOST_ASSIGN(program_.scratch_, Memory::make(*program_.device_, program_.footprint_.scratch));
  return {};
}

void Builder::point(Program::UnitFrame& unit_frame) {
  const Unit& unit = program_.units_[unit_frame.unit];
  const auto data = [&](SlotId slot) {
    return slot == no_slot ? nullptr : program_.slots_[static_cast<std::size_t>(slot)].data;
  };
  for (auto slot : unit_frame.input_slots) unit_frame.inputs.push_back(data(slot));
  for (auto slot : unit_frame.output_slots) unit_frame.outputs.push_back(data(slot));
  for (auto slot : unit_frame.output_gradient_slots) unit_frame.output_gradients.push_back(data(slot));
  for (auto slot : unit_frame.input_gradient_slots) unit_frame.input_gradients.push_back(data(slot));
  for (auto slot : unit_frame.param_gradient_slots) unit_frame.param_gradients.push_back(data(slot));
  const auto number =
      static_cast<std::size_t>(&unit_frame - program_.unit_frames_.data()) % static_cast<std::size_t>(program_.frames_);
  for (std::size_t b = 0; b < unit.buffers.size(); ++b) {
    const Buffer& buffer = unit.buffers[b];
    const param::State* state = buffer.carried.empty() ? buffer.state : buffer.carried[number];
    unit_frame.buffers.push_back(state ? state->memory.data() : data(unit_frame.buffer_slots[b]));
  }
  for (const auto& use : unit.uses) unit_frame.params.push_back(use.copy->data);
  Frame& frame = unit_frame.frame;
  frame.inputs = unit_frame.inputs;
  frame.outputs = unit_frame.outputs;
  frame.output_gradients = unit_frame.output_gradients;
  frame.input_gradients = unit_frame.input_gradients;
  frame.params = unit_frame.params;
  frame.param_gradients = unit_frame.param_gradients;
  frame.buffers = unit_frame.buffers;
  frame.scratch = program_.scratch_.data();
  frame.stream = program_.stream_;
  frame.draw_stream = unit.described->draw_stream;
}

void Builder::feed_sources() {
  program_.arrived_.resize(nodes_.size());
  for (int f = 0; f < program_.frames_; ++f)
    for (std::size_t u = 0; u < program_.units_.size(); ++u) {
      const Unit& unit = program_.units_[u];
      if (!unit.described->source) continue;
      for (std::size_t o = 0; o < unit.outputs.size(); ++o) {
        Program::Feed feed{.node = u, .output = o, .frame = f, .slot = in_frame(unit.outputs[o], f)};
        const auto& desc = program_.slots_[static_cast<std::size_t>(feed.slot)].desc;
        feed.delivered = program_.takes_delivered(u, o);
        feed.row_bytes = desc.plain_bytes() / static_cast<std::size_t>(std::max<std::int64_t>(desc.shape[0], 1));
        for (auto& reader : program_.unit_frames_)
          for (std::size_t i = 0; i < reader.inputs.size(); ++i)
            if (root(reader.input_slots[i]) == feed.slot) feed.readers.push_back(&reader.inputs[i]);
        for (auto& call : program_.calls_)
          for (std::size_t i = 0; i < call.in.size(); ++i)
            if (root(call.in[i]) == feed.slot) feed.readers.push_back(&call.inputs[i]);
        program_.feeds_.push_back(std::move(feed));
      }
    }
}

void Builder::make_metrics() {
  for (int f = 0; f < program_.frames_; ++f)
    for (const auto& unit : program_.units_)
      for (const auto& spec : unit.described->setup.metrics) {
        const std::string name = unit.described->metric_name(spec);
        const SlotId slot = in_frame(unit.outputs.at(spec.output), f);
        if (spec.table)
          add_table(name, slot);
        else
          program_.metrics_.push_back({.name = name,
                                       .node = unit.node,
                                       .better_high = spec.better_high,
                                       .is_loss = unit.described->setup.is_loss,
                                       .slot = slot});
      }
  program_.metric_values_.resize(program_.metrics_.size() * 2);
}

// Tables are of whole evaluations: nobody looks at those of training steps.
void Builder::add_table(const std::string& name, SlotId slot) {
  if (request_.training) return;
  const Shape& shape = program_.slots_[static_cast<std::size_t>(slot)].desc.shape;
  CountTable table{.last = {.name = name,
                            .rows = static_cast<std::size_t>(shape[0]),
                            .columns = static_cast<std::size_t>(shape.past(1))},
                   .slot = slot};
  table.last.counts.resize(table.last.rows * table.last.columns);
  program_.table_values_.resize(std::max(program_.table_values_.size(), table.last.counts.size()));
  program_.tables_.push_back(std::move(table));
}

void Builder::lay_out() {
  join_lives();
  reuse_in_place();
  place_slots();
  std::size_t scratch = 1;
  for (const auto& unit : program_.units_) scratch = std::max(scratch, unit.scratch);
  for (const auto& op : program_.ops_) scratch = std::max(scratch, op->scratch_bytes);
  for (const auto& link : program_.links_)
    for (const auto* op : {link.forward.get(), link.backward.get()})
      if (op) scratch = std::max(scratch, op->scratch_bytes);
  program_.footprint_.scratch = scratch;
  request_.store->lay_out(request_.updater ? &rule_ : nullptr);
  note_footprint();
}

Status Builder::bind_params() {
  DLHOST_TRY(request_.store->allocate(request_.updater ? &rule_ : nullptr));
  for (auto* param : program_.updated_) {
    if (request_.sharing) break; // who owns the slices updates them
    DLHOST_ASSIGN(auto update,
                  param::Update::prepare(*request_.store, *param, *request_.updater, rule_, request_.update_settings));
    program_.updates_.push_back(std::move(update));
  }
  DLHOST_TRY(prepare_joined());
  if (request_.others) {
    DLHOST_ASSIGN(program_.summing_,
                  Summing::make(*program_.device_, *program_.stream_, *request_.others, program_.updated_.size()));
    program_.unsettled_.reserve(program_.updated_.size());
  }
  if (request_.crosses_beside) {
    DLHOST_ASSIGN(program_.leaving_, Leaving::make(*program_.device_, program_.updated_.size()));
  }
  for (auto& unit_frame : program_.unit_frames_) point(unit_frame);
  for (auto& call : program_.calls_) {
    for (auto slot : call.in) call.inputs.push_back(program_.slots_[static_cast<std::size_t>(slot)].data);
    call.output = program_.slots_[static_cast<std::size_t>(call.out)].data;
  }
  feed_sources();
  make_metrics();
  program_.passes_.resize(static_cast<std::size_t>(program_.frames_));
  return program_.stream_->wait();
}

} // namespace dlhost::program
