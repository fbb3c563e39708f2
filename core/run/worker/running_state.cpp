#include "run/worker/running_state.h"

#include <algorithm>

namespace dlhost::run {

Status RunningState::copy(Direction direction) const {
  param::Store& store = ends_.session.store();
  if (!ends_.memory.states_apart() || count() == 0) return {};
  const auto& [device, stream] = store.computing();
  for (std::size_t place = 0; place < count(); ++place) {
    const auto shared = ends_.memory.own_state(place);
    std::byte* const own = store.states()[place]->memory.data();
    const bool leaves = direction == Direction::to_host;
    DLHOST_TRY(
        device.copy(stream, leaves ? shared.data() : own, leaves ? own : shared.data(), shared.size(), direction));
  }
  return stream.wait();
}

void RunningState::spread() const {
  for (std::size_t place = 0; place < count(); ++place) {
    const auto first = ends_.memory.state_of(0, place);
    for (std::uint32_t worker = 1; worker < ends_.layout.map.workers(); ++worker)
      std::ranges::copy(first, ends_.memory.state_of(worker, place).begin());
  }
}

// Called at fixed steps, so a resumed run gets the same state.
Status RunningState::merge() const {
  DLHOST_TRY(leave());
  const std::uint32_t workers = ends_.layout.map.workers();
  for (std::size_t place = 0; place < count(); ++place) {
    const param::State& state = *ends_.session.store().states()[place];
    if (state.merge != Merge::mean || state.desc.dtype != DType::f32) continue;
    const auto values = [&](std::uint32_t worker) { return ends_.memory.state_of(worker, place); };
    for (std::size_t i = 0; i < values(0).size(); ++i) {
      double sum = 0;
      for (std::uint32_t worker = 0; worker < workers; ++worker) sum += static_cast<double>(values(worker)[i]);
      for (std::uint32_t worker = 0; worker < workers; ++worker) values(worker)[i] = static_cast<float>(sum / workers);
    }
    for (std::uint32_t worker = 0; worker < workers; ++worker)
      DLHOST_TRY(ends_.memory.show_to_owner(worker, std::as_bytes(values(worker))));
  }
  return land();
}

} // namespace dlhost::run
