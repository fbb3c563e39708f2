#include "program/step.h"

namespace dlhost::program {

void point(UnitFrame& at, const Unit& unit, int frame, const Slots& slots) {
  const auto data = [&](SlotId slot) { return slot == no_slot ? nullptr : slots[slot].data; };
  for (auto slot : at.input_slots) at.inputs.push_back(data(slot));
  for (auto slot : at.output_slots) at.outputs.push_back(data(slot));
  for (auto slot : at.output_gradient_slots) at.output_gradients.push_back(data(slot));
  for (auto slot : at.input_gradient_slots) at.input_gradients.push_back(data(slot));
  for (auto slot : at.param_gradient_slots) at.param_gradients.push_back(data(slot));
  for (std::size_t b = 0; b < unit.buffers.size(); ++b) {
    const Buffer& buffer = unit.buffers[b];
    const param::State* state = buffer.carried.empty() ? buffer.state : buffer.carried[static_cast<std::size_t>(frame)];
    at.buffers.push_back(state ? state->memory.data() : data(at.buffer_slots[b]));
  }
  for (const auto& use : unit.uses) at.params.push_back(use.copy->data);
  at.frame.inputs = at.inputs;
  at.frame.outputs = at.outputs;
  at.frame.output_gradients = at.output_gradients;
  at.frame.input_gradients = at.input_gradients;
  at.frame.params = at.params;
  at.frame.param_gradients = at.param_gradients;
  at.frame.buffers = at.buffers;
  at.frame.draw_stream = unit.described->draw_stream;
}

void point(Call& call, const Slots& slots) {
  for (auto slot : call.in) call.inputs.push_back(slots[slot].data);
  call.output = slots[call.out].data;
}

} // namespace dlhost::program
