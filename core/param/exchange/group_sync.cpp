#include "param/exchange/group_sync.h"

#include "param/exchange/exchanges.h"
#include "param/exchange/gossip.h"

namespace dlhost::param {

bool GroupSync::gossips(const Sync& sync) { return !sync.neighbours(0, 2).empty(); }

std::size_t GroupSync::bytes(const RowExchange::Part& part, const Slices& slices, std::uint32_t server) {
  const auto& [sync, ranks, codec] = part;
  const std::size_t links = gossips(*sync) ? sync->neighbours(ranks.rank, ranks.count).size() : 0;
  std::size_t bytes = 0;
  for (const Slice& slice : slices.all()) {
    if (slice.server != server) continue;
    if (!gossips(*sync)) RowExchange::add_bytes(part, slice, Exchanges::turns, bytes);
    for (std::size_t row = 0; gossips(*sync) && row < Gossip::rows(links); ++row)
      take_lines(bytes, static_cast<std::size_t>(slice.count) * sizeof(float));
  }
  return bytes;
}

std::vector<Updater::History> GroupSync::histories(const Sync& sync) {
  return sync.outer() ? sync.outer()->rule().history : std::vector<Updater::History>();
}

Result<std::unique_ptr<GroupSync>> GroupSync::make(Setup setup, std::span<const Slice* const> owned) {
  const Sync& sync = *setup.neighbours.sync;
  if (sync.traits().every == 0) return Status::internal("the sync exchanges every 0 updates; 1 is the least");
  std::unique_ptr<GroupSync> made;
  if (gossips(sync))
    made = std::make_unique<Gossip>(std::move(setup));
  else
    made = std::make_unique<Exchanges>(std::move(setup));
  for (const Slice* slice : owned) DLHOST_TRY(made->add(*slice));
  return made;
}

std::span<float> GroupSync::shared(const Slice& slice, std::size_t which) const {
  float* param = reinterpret_cast<float*>(setup_.masters->shared(slice.param, which).data());
  return {param + slice.first, static_cast<std::size_t>(slice.count)};
}

Result<std::unique_ptr<SliceUpdate>> GroupSync::shift(const Slice& slice) const {
  return SliceUpdate::prepare(*setup_.store, *setup_.store->params()[slice.param], slice.count,
                              SliceUpdate::Histories(1), 1, addition_, addition_.rule(), {});
}

} // namespace dlhost::param
