// What outlives a worker that has died, where servers see to that (param/server/surviving_versions.h): read by one that
// has not, when nobody computes or serves any more. The memory that is shared stays as it is, so that whoever dies over
// this can be followed by another.
#include <algorithm>

#include "run/worker/seat.h"

namespace dlhost::run {

std::span<std::byte> Seat::published(std::uint32_t seat) const {
  return publishes() ? own_[seat].bytes.subspan(memory_->published,
                                                param::SurvivingVersions::bytes(memory_->slices.size(), seats_))
                     : std::span<std::byte>();
}

void Seat::retire() {
  if (!table_) return;
  leave_states().ignore("what the device has is lost with it; the rest goes on from what was left last");
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
    if (seat == number_ || lost_[seat] || std::ranges::find(gone, seat) != gone.end()) continue;
    while (!vitals(seat).retired.load(std::memory_order_acquire)) {
      if (clock.now() - begin > patience) {
        end(seat);
        break;
      }
      clock.sleep(look_again);
    }
  }
}

std::optional<param::SurvivingVersions> Seat::published_by(std::uint32_t server_group,
                                                           const param::Slice& slice) const {
  if (!exchange_.versions_outlive) return {};
  return published_of(server_group, slice);
}

Result<Seat::Outlasting> Seat::outlasting(std::uint32_t server_group) const {
  Outlasting newest;
  for (const auto& slice : memory_->slices.all()) {
    const auto published = published_by(server_group, slice);
    if (!published->has(slice.id))
      return Status::not_found("server ", slice.server, " of server group ", server_group, " had not begun");
    newest.push_back(published->newest(slice.id));
  }
  if (!exchange_.in_step && !exchange_.by_step) return newest;
  // Some may have made one more than others: then all go back to the one before it. No slice can be two ahead: whoever
  // contributes to a version has read the one before it of all slices. In step they go back from a step that the leader
  // has not dealt with as well: what was due after it is still due.
  Version common = exchange_.in_step
                       ? begun_.version + vitals(0).told.load(std::memory_order_acquire) - begun_.steps.at(0)
                   : newest.empty() ? 0
                                    : newest.front().version;
  for (const auto& record : newest) common = std::min(common, record.version);
  for (const auto& slice : memory_->slices.all())
    if (!published_by(server_group, slice)->find(slice.id, common, newest[slice.id]))
      return Status::internal("slice ", slice.id, " is at version ", newest[slice.id].version, ", and its version ",
                              common, " is gone");
  return newest;
}

// The param, whose slices may lie in several places, in one.
std::span<std::byte> Seat::gathered(std::size_t param,
                                    const std::function<std::span<std::byte>(const param::Slice&)>& where,
                                    std::vector<std::vector<std::byte>>& copies) {
  const auto slices = memory_->slices.of(param);
  const std::span<std::byte> first = where(slices.front());
  if (std::ranges::all_of(slices, [&](const auto& slice) { return where(slice).data() == first.data(); })) return first;
  auto& whole = copies.emplace_back(first.begin(), first.end());
  for (const auto& slice : slices) {
    const auto bytes = where(slice).subspan(static_cast<std::size_t>(slice.first) * sizeof(float),
                                            static_cast<std::size_t>(slice.count) * sizeof(float));
    std::copy(bytes.begin(), bytes.end(), whole.begin() + slice.first * static_cast<std::int64_t>(sizeof(float)));
  }
  return whole;
}

// Each server group's values have what it learned itself, and what it heard of the others: all begin once more with
// what each has learned.
std::span<std::byte> Seat::outlasted(std::size_t param, const std::vector<Outlasting>& records) {
  const param::Masters& first = masters_of(0);
  const auto value = gathered(
      param, [&](const param::Slice& slice) { return first.value(param, records[0][slice.id].value); }, salvaged_);
  if (exchange_.groups == Groups::one) return value;
  auto& whole = salvaged_.emplace_back(value.begin(), value.end());
  auto* const values = reinterpret_cast<float*>(whole.data());
  const auto floats = [](std::span<const std::byte> row) { return reinterpret_cast<const float*>(row.data()); };
  for (const auto& slice : memory_->slices.of(param)) {
    const float* begun = floats(first.shared(param, param::GroupSync::begun_row(*plugins_.sync().plugin)));
    for (auto i = slice.first; i < slice.first + slice.count; ++i) {
      double learned = 0;
      for (std::uint32_t group = 0; group < place_.server_groups; ++group) {
        const auto& record = records[group][slice.id];
        const param::Masters& masters = masters_of(group);
        learned += double{floats(masters.value(param, record.value))[i]} - double{begun[i]} -
                   double{floats(
                       masters.shared(param, param::GroupSync::heard_row(*plugins_.sync().plugin, record.heard)))[i]};
      }
      values[i] = static_cast<float>(double{begun[i]} + learned);
    }
  }
  return whole;
}

// Of each slice, and of each worker at the servers that it has.
param::StartPoint Seat::reached_by(const std::vector<Outlasting>& records) const {
  param::StartPoint reached{.others = std::vector<Version>(records.size() - 1),
                            .steps = std::vector<std::uint64_t>(seats_, ~std::uint64_t{0})};
  for (std::size_t slice = 0; slice < records[0].size(); ++slice) {
    param::StartPoint::OfSlice& there = reached.slices.emplace_back();
    there.version = records[0][slice].version;
    for (const Outlasting& of_group : records)
      there.steps.insert(there.steps.end(), of_group[slice].applied.begin(), of_group[slice].applied.end());
    for (std::size_t other = 0; other < reached.others.size(); ++other)
      there.others.push_back(records[1 + other][slice].version);
    for (std::uint32_t seat = 0; seat < seats_; ++seat)
      reached.steps[seat] = std::min(reached.steps[seat], there.steps[seat]);
  }
  if (exchange_.by_step && !reached.slices.empty()) {
    count_chosen(reached.slices);
    for (std::uint32_t seat = 0; seat < seats_; ++seat) reached.steps[seat] = reached.slices.front().steps[seat];
  }
  // Where only differences go to the servers, workers begin with theirs; what a codec left out they have.
  reached.own_values = !exchange_.workers_keep();
  // What the leader has not counted it makes once more: servers know that they have it.
  reached.steps[0] = std::min(reached.steps[0], vitals(0).told.load(std::memory_order_acquire));
  reached.sum_up();
  return reached;
}

// Where whole steps are chosen, the same are in all slices of a version; servers may not all have heard yet which are
// in none.
void Seat::count_chosen(std::vector<param::StartPoint::OfSlice>& slices) const {
  for (std::uint32_t first = 0; first < seats_; first += place_.workers) {
    std::uint64_t most = 0;
    for (const auto& slice : slices)
      for (std::uint32_t seat = first; seat < first + place_.workers; ++seat) most = std::max(most, slice.steps[seat]);
    for (auto& slice : slices) std::fill_n(slice.steps.begin() + first, place_.workers, most);
  }
}

// Where whole steps are chosen, what only some of a group have sent of one is made again.
std::vector<param::TensorPlace> Seat::kept_by_codec(std::uint32_t seat) {
  const std::uint32_t group = plan::Place::at(session_.job(), seat).server_group;
  const bool goes_back = outlasted_ || (exchange_.by_step && !reached_.steps.empty());
  const auto before = [&](SliceId slice) {
    return outlasted_ ? (*outlasted_)[group][slice].applied[seat - home_of(group)] : reached_.steps[seat];
  };
  return memory_->coding->kept(own_[seat].bytes, goes_back ? param::Coding::Before(before) : nullptr, kept_);
}

Result<param::StartPoint> Seat::salvage() {
  DLHOST_TRY(find_heads());
  std::vector<Outlasting> records; // of each server group
  for (std::uint32_t group = 0; group < place_.server_groups; ++group) {
    DLHOST_ASSIGN(records.emplace_back(), outlasting(group));
  }
  param::Store& store = session_.store();
  const param::Masters& first = masters_of(0);
  for (const auto& param : store.params()) {
    if (memory_->slices.of(param->number).empty()) continue;
    store.move(*param, outlasted(param->number, records));
    for (std::size_t slot = 0; slot < param->history.size(); ++slot)
      store.move_history(*param, slot,
                         gathered(
                             param->number,
                             [&](const param::Slice& slice) {
                               return first.history(param->number, slot, records[0][slice.id].history);
                             },
                             salvaged_));
  }
  DLHOST_TRY(merge_states());
  outlasted_ = std::move(records);
  auto reached = reached_by(*outlasted_);
  heads_.steps = reached.steps;
  return reached;
}

} // namespace dlhost::run
