// Running state of the workers, which becomes one while they stand still. Each has its own in memory that the others
// see: there, where the host reaches what computes; else a copy of it, left there and taken again.
#include "run/worker/seat.h"

namespace dlhost::run {

std::span<std::byte> Seat::own_state(std::size_t place) const {
  const param::Store& store = session_.store();
  return own_[number_].bytes.subspan(layout_->states[place],
                                     store.computing().device.bytes(store.states()[place]->desc));
}

bool Seat::states_apart() const {
  const param::Store& store = session_.store();
  return store.apart() || !store.computing().device.traits().host_memory;
}

Status Seat::copy_states(Direction direction) {
  param::Store& store = session_.store();
  if (!states_apart() || layout_->states.empty()) return {};
  const auto& [device, stream] = store.computing();
  for (std::size_t place = 0; place < layout_->states.size(); ++place) {
    const auto shared = own_state(place);
    std::byte* const own = store.states()[place]->memory.data();
    const bool leaves = direction == Direction::to_host;
    DLHOST_TRY(
        device.copy(stream, leaves ? shared.data() : own, leaves ? own : shared.data(), shared.size(), direction));
  }
  return stream.wait();
}

std::span<float> Seat::state_of(std::uint32_t seat, std::size_t place) const {
  return {reinterpret_cast<float*>(own_[seat].bytes.data() + layout_->states[place]),
          session_.store().states()[place]->memory.size() / sizeof(float)};
}

// A checkpoint has the leader's.
void Seat::spread_states() {
  for (std::size_t place = 0; place < layout_->states.size(); ++place) {
    const auto first = state_of(0, place);
    for (std::uint32_t seat = 1; seat < seats_; ++seat)
      std::copy(first.begin(), first.end(), state_of(seat, place).begin());
  }
}

// Running state of replicas becomes one: at fixed steps, so that a run that is resumed sees the same.
Status Seat::merge_states() {
  DLHOST_TRY(leave_states());
  for (std::size_t place = 0; place < layout_->states.size(); ++place) {
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
