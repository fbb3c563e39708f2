// What outlives a worker that has died, where servers see to that (param/published.h): read by one that has not, when
// nobody computes or serves any more. The memory that is shared stays as it is, so that whoever dies over this can be
// followed by another.
#include <algorithm>

#include "run/seat.h"

namespace dlhost::run {

std::span<std::byte> Seat::published(std::uint32_t seat) const {
  return outlived()
             ? own_[seat].bytes.subspan(layout_->published, param::Published::bytes(layout_->slices.size(), seats_))
             : std::span<std::byte>();
}

void Seat::retire() {
  if (!table_) return;
  table_->sit_beside(nullptr, nullptr);
  vitals(number_).retired.store(true, std::memory_order_release);
}

// Who leads does not serve while it waits here; a leader that is waited for by another is gone.
void Seat::await_retirement(const std::function<void(std::uint32_t seat)>& end) {
  constexpr Nanoseconds look_again = 1'000'000, patience = 1'000'000'000;
  Clock& clock = session_.host().clock();
  const Nanoseconds begin = clock.now();
  const auto gone = this->gone();
  for (std::uint32_t seat = 1; seat < seats_; ++seat) {
    if (seat == number_ || std::ranges::find(gone, seat) != gone.end()) continue;
    while (!vitals(seat).retired.load(std::memory_order_acquire)) {
      if (clock.now() - begin > patience) {
        end(seat);
        break;
      }
      clock.sleep(look_again);
    }
  }
}

Result<std::vector<param::Published::Record>> Seat::outlasting() const {
  std::vector<param::Published::Record> newest;
  for (const auto& slice : layout_->slices.all()) {
    const param::Published published(this->published(home_of(0) + slice.server), seats_);
    if (!published.has(slice.id)) return Status::not_found("server ", slice.server, " had not begun");
    newest.push_back(published.newest(slice.id));
  }
  if (!in_step_) return newest;
  // Some may have made one more than others: then all go back to the one before it. So they do from a step that the
  // leader has not dealt with: what was due after it is still due.
  Version common = begun_.version + vitals(0).told.load(std::memory_order_acquire) - begun_.steps.at(0);
  for (const auto& record : newest) common = std::min(common, record.version);
  for (const auto& slice : layout_->slices.all())
    if (const param::Published published(this->published(home_of(0) + slice.server), seats_);
        !published.find(slice.id, common, newest[slice.id]))
      return Status::internal("slice ", slice.id, " is at version ", newest[slice.id].version, ", and its version ",
                              common, " is gone");
  return newest;
}

// The param, whose slices may lie in several places, in one.
std::span<std::byte> Seat::gathered(std::size_t param,
                                    const std::function<std::span<std::byte>(const param::Slice&)>& where) {
  const auto slices = layout_->slices.of(param);
  const std::span<std::byte> first = where(slices.front());
  if (std::ranges::all_of(slices, [&](const auto& slice) { return where(slice).data() == first.data(); })) return first;
  auto& whole = salvaged_.emplace_back(first.begin(), first.end());
  for (const auto& slice : slices) {
    const auto bytes = where(slice).subspan(static_cast<std::size_t>(slice.first) * sizeof(float),
                                            static_cast<std::size_t>(slice.count) * sizeof(float));
    std::ranges::copy(bytes, whole.begin() + slice.first * static_cast<std::int64_t>(sizeof(float)));
  }
  return whole;
}

Result<param::Beginning> Seat::salvage() {
  DLHOST_ASSIGN(const auto records, outlasting());
  param::Store& store = session_.store();
  const param::Masters& masters = lent_masters();
  for (const auto& param : store.params()) {
    if (layout_->slices.of(param->number).empty()) continue;
    store.move(*param, gathered(param->number, [&](const param::Slice& slice) {
      return masters.value(param->number, records[slice.id].value);
    }));
    for (std::size_t slot = 0; slot < param->history.size(); ++slot)
      store.move_history(*param, slot, gathered(param->number, [&](const param::Slice& slice) {
        return masters.history(param->number, slot, records[slice.id].history);
      }));
  }
  merge_states();
  param::Beginning reached{.version = 0, .steps = std::vector<std::uint64_t>(seats_, ~std::uint64_t{0})};
  for (const auto& record : records) {
    reached.version = std::max(reached.version, record.version);
    reached.slices.push_back({record.version, {record.applied.begin(), record.applied.end()}});
    for (std::uint32_t seat = 0; seat < seats_; ++seat)
      reached.steps[seat] = std::min(reached.steps[seat], record.applied[seat]);
  }
  // What the leader has not counted it makes once more: servers know that they have it.
  reached.steps[0] = std::min(reached.steps[0], vitals(0).told.load(std::memory_order_acquire));
  const auto alike = [&](const auto& slice) {
    return slice.version == reached.version && slice.steps == reached.steps;
  };
  if (std::ranges::all_of(reached.slices, alike)) reached.slices.clear();
  return reached;
}

} // namespace dlhost::run
