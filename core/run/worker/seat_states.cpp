// Running state of the workers, which is merged during pauses. The state lies in memory that all workers see if the
// host can reach the computing device's memory. Else a copy is left there and taken back.
#include "run/worker/seat.h"

namespace dlhost::run {

std::span<std::byte> Seat::own_state(std::size_t place) const {
  const param::Store& store = session_.store();
  return own_[number_].bytes.subspan(memory_->states[place],
                                     store.computing().device.bytes(store.states()[place]->desc));
}

bool Seat::states_apart() const {
  const param::Store& store = session_.store();
  return store.apart() || !store.computing().device.traits().host_memory;
}

Status Seat::copy_states(Direction direction) {
  param::Store& store = session_.store();
  if (!states_apart() || memory_->states.empty()) return {};
  const auto& [device, stream] = store.computing();
  for (std::size_t place = 0; place < memory_->states.size(); ++place) {
    const auto shared = own_state(place);
    std::byte* const own = store.states()[place]->memory.data();
    const bool leaves = direction == Direction::to_host;
    DLHOST_TRY(
        device.copy(stream, leaves ? shared.data() : own, leaves ? own : shared.data(), shared.size(), direction));
  }
  return stream.wait();
}

std::span<float> Seat::state_of(std::uint32_t seat, std::size_t place) const {
  return {reinterpret_cast<float*>(own_[seat].bytes.data() + memory_->states[place]),
          session_.store().states()[place]->memory.size() / sizeof(float)};
}

// A checkpoint has only the leader's state. Copies it to all workers.
void Seat::spread_states() {
  for (std::size_t place = 0; place < memory_->states.size(); ++place) {
    const auto first = state_of(0, place);
    for (std::uint32_t seat = 1; seat < seats_; ++seat)
      std::copy(first.begin(), first.end(), state_of(seat, place).begin());
  }
}

// Merges the running state of replicas. This happens at fixed steps, so that a resumed run gets the same state.
Status Seat::merge_states() {
  DLHOST_TRY(leave_states());
  for (std::size_t place = 0; place < memory_->states.size(); ++place) {
    const param::State& state = *session_.store().states()[place];
    if (state.merge != Merge::mean || state.desc.dtype != DType::f32) continue;
    const auto values = [&](std::uint32_t seat) { return state_of(seat, place); };
    const auto merged = values(0);
    for (std::size_t i = 0; i < merged.size(); ++i) {
      double sum = 0;
      for (std::uint32_t seat = 0; seat < seats_; ++seat) sum += static_cast<double>(values(seat)[i]);
      for (std::uint32_t seat = 0; seat < seats_; ++seat) values(seat)[i] = static_cast<float>(sum / seats_);
    }
    for (std::uint32_t seat = 0; seat < seats_; ++seat) DLHOST_TRY(show_to_owner(seat, std::as_bytes(values(seat))));
  }
  DLHOST_TRY(land_states());
  return await_shown();
}

} // namespace dlhost::run
