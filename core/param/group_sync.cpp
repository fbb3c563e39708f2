#include "param/group_sync.h"

#include "param/exchanges.h"
#include "param/gossip.h"

namespace dlhost::param {

bool GroupSync::gossips(const Sync& sync) { return !sync.neighbours(0, 2).empty(); }

std::size_t GroupSync::bytes(const Slices& slices, std::uint32_t server, const Sync& sync, std::uint32_t rank,
                             std::uint32_t count) {
  const std::size_t rows = gossips(sync) ? Gossip::rows(sync.neighbours(rank, count).size()) : Exchanges::rows;
  std::size_t bytes = 0;
  for (const Slice& slice : slices.all())
    for (std::size_t row = 0; slice.server == server && row < rows; ++row)
      take_lines(bytes, static_cast<std::size_t>(slice.count) * sizeof(float));
  return bytes;
}

std::vector<Updater::History> GroupSync::histories(const Sync& sync) {
  return sync.outer() ? sync.outer()->rule().history : std::vector<Updater::History>();
}

Result<std::unique_ptr<GroupSync>> GroupSync::make(Setup setup, std::span<const Slice* const> owned) {
  if (setup.sync->traits().every == 0) return Status::internal("the sync exchanges every 0 updates; 1 is the least");
  std::unique_ptr<GroupSync> made;
  if (gossips(*setup.sync))
    made = std::make_unique<Gossip>(std::move(setup));
  else
    made = std::make_unique<Exchanges>(std::move(setup));
  made->place_ = made->setup_.place;
  for (const Slice* slice : owned) DLHOST_TRY(made->add(*slice));
  return made;
}

std::span<float> GroupSync::row(const Slice& slice) {
  const auto elements = static_cast<std::size_t>(slice.count);
  std::byte* first = setup_.memory.data() + take_lines(place_, elements * sizeof(float));
  return {reinterpret_cast<float*>(first), elements};
}

std::span<float> GroupSync::shared(const Slice& slice, std::size_t which) const {
  float* param = reinterpret_cast<float*>(setup_.masters->shared(slice.param, which).data());
  return {param + slice.first, static_cast<std::size_t>(slice.count)};
}

Result<std::unique_ptr<SliceUpdate>> GroupSync::shift(const Slice& slice) const {
  return SliceUpdate::prepare(*setup_.store, *setup_.store->params()[slice.param], slice.count,
                              SliceUpdate::Histories(1), 1, addition_, addition_.rule(), {});
}

Status GroupSync::send_part(std::uint32_t rank, const Slice& slice, std::span<const float> part, Message message) {
  message.word = Word::part;
  message.epoch = setup_.epoch;
  message.slice = slice.id;
  message.samples.count = static_cast<std::uint32_t>(part.size());
  message.place = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(part.data()) - setup_.memory.data());
  const std::uint32_t seat = setup_.servers[rank].seat;
  if (setup_.show) DLHOST_TRY(setup_.show(seat, message.place, part.size_bytes()));
  return setup_.send(seat, message);
}

Result<std::span<const float>> GroupSync::read(const Slice& slice, const Message& message, std::size_t rank) const {
  const auto memory = setup_.servers[rank].memory;
  const auto elements = static_cast<std::uint64_t>(slice.count);
  const std::size_t bytes = std::size_t{message.samples.count} * sizeof(float);
  if (message.samples.first > elements || message.samples.count > elements - message.samples.first ||
      bytes > memory.size() || message.place > memory.size() - bytes || message.place % sizeof(float) != 0)
    return Status::corrupt("server group ", rank, " sends a part of slice ", slice.id, " that lies at ", message.place,
                           ", outside of its memory of ", memory.size(), " bytes, or of the slice");
  return std::span(reinterpret_cast<const float*>(memory.data() + message.place), message.samples.count);
}

Status GroupSync::wrong(const Slice& slice, const Message& message, std::uint64_t number) const {
  return Status::corrupt("seat ", message.seat, " is in exchange ", message.version, " of slice ", slice.id,
                         ", and this server in ", number);
}

} // namespace dlhost::param
