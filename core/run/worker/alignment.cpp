#include "run/worker/alignment.h"

#include <algorithm>
#include <optional>

namespace dlhost::run {

// If a group is lost meanwhile, the messages that its neighbours expect from it come from others: all are asked again.
Status Alignment::align() {
  if (!lost_.mends()) return align_remaining();
  Clock& clock = ends_.session.host().clock();
  std::uint64_t losses = 0;
  std::optional<Nanoseconds> lost_at;
  do {
    losses = lost_.count();
    DLHOST_TRY(align_remaining());
    if (losses != lost_.count() && !lost_at) lost_at = clock.now();
  } while (losses != lost_.count());
  if (lost_at) stood_still_ += clock.now() - *lost_at;
  return {};
}

Status Alignment::align_remaining() {
  const plan::WorkerMap& map = ends_.layout.map;
  const plan::Exchange& exchange = ends_.layout.exchange;
  const std::uint64_t losses = lost_.count();
  ++times_;
  aligned_.assign(map.server_groups(), std::vector<Aligned>(ends_.slices().size()));
  unaligned_ = 0;
  for (std::uint32_t group = 0; group < map.server_groups(); ++group) {
    if (lost_.has(group)) continue;
    unaligned_ += ends_.slices().size();
    if (exchange.by_step && !exchange.chooses_steps)
      DLHOST_TRY(ends_.send(map.home_of(group), param::to_chooser::Complete()));
    else
      DLHOST_TRY(ends_.tell(map.servers_of(group), param::to_server::Align{.number = times_}));
  }
  const auto answered = [&] {
    return ends_.waits.is_over(unaligned_ == 0 || losses != lost_.count(), Waits::on(Awaited::What::answers));
  };
  DLHOST_TRY(ends_.table->wait_until(answered));
  DLHOST_TRY(align_exchanges());
  return ends_.table->wait_until(answered);
}

// Two groups begin an exchange in order to be aligned. One of them may have been in the other's exchange already: it
// has begun one more, of which the other need not have heard when it answered.
Status Alignment::align_exchanges() {
  const plan::WorkerMap& map = ends_.layout.map;
  for (const param::Slice& slice : ends_.slices().all()) {
    std::uint64_t most = 0;
    for (const auto& group : aligned_) most = std::max(most, group[slice.id].exchanges);
    for (std::uint32_t group = 0; group < map.server_groups(); ++group) {
      if (lost_.has(group) || aligned_[group][slice.id].exchanges == most) continue;
      ++unaligned_;
      DLHOST_TRY(ends_.send(map.home_of(group) + slice.server,
                            param::to_server::AlignThrough{.slice = slice.id, .exchange = most}));
    }
  }
  return {};
}

Status Alignment::hear_aligned(std::uint32_t from, const param::to_worker::Aligned& message) {
  const std::uint32_t group = ends_.layout.map.server_group_of(from);
  if (lost_.mends() && message.alignments != times_) return {}; // all were asked again since
  const param::Slices& slices = ends_.slices();
  if (unaligned_ == 0 || message.slice >= slices.size() ||
      from - ends_.layout.map.home_of(group) != slices[message.slice].server ||
      message.place >= ends_.memory.masters().values(slices[message.slice].param))
    return Status::corrupt("worker ", from, " reports slice ", message.slice,
                           " as aligned, which this worker did not ask for");
  --unaligned_;
  aligned_[group][message.slice] = {message.version, message.place, message.exchanges};
  return {};
}

} // namespace dlhost::run
