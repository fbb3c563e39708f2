#include "run/worker/salvage.h"

#include <algorithm>

namespace dlhost::run {

// A leader does not serve while it waits here. If another worker waits here, the leader is gone.
void Salvage::await_retirement(const std::function<bool(std::uint32_t worker)>& is_lost,
                               const std::function<void(std::uint32_t worker)>& end) const {
  constexpr Nanoseconds look_again = 1'000'000, longest_wait = 1'000'000'000;
  Clock& clock = ends_.session.host().clock();
  const Nanoseconds begin = clock.now();
  const auto gone = ends_.post ? ends_.post->gone() : std::vector<std::uint32_t>();
  for (std::uint32_t worker = 1; worker < ends_.layout.map.workers(); ++worker) {
    if (worker == ends_.number || is_lost(worker) || std::ranges::find(gone, worker) != gone.end()) continue;
    while (!ends_.memory.vitals(worker).retired.load(std::memory_order_acquire)) {
      if (clock.now() - begin > longest_wait) {
        end(worker);
        break;
      }
      clock.sleep(look_again);
    }
  }
}

Result<Salvage::Records> Salvage::surviving(std::uint32_t server_group) const {
  const plan::Exchange& exchange = ends_.layout.exchange;
  const auto published = [&](const param::Slice& slice) { return ends_.memory.published_of(server_group, slice); };
  Records newest;
  for (const auto& slice : ends_.slices().all()) {
    const bool is_seen = !ends_.memory.of(ends_.layout.map.home_of(server_group) + slice.server).empty();
    if (!is_seen || !published(slice).has(slice.id))
      return Status::not_found("server ", slice.server, " of server group ", server_group, " had not begun");
    newest.push_back(published(slice).newest(slice.id));
  }
  if (!exchange.in_step && !exchange.by_step) return newest;
  // Some slices may have one version more than others: then all go back by one. No slice can be two ahead, because a
  // worker that contributes to a version has read the one before it of all slices that it holds, and what it computes
  // with comes from workers that have read the others. In step, all also go back from a
  // step that the leader has not dealt with: what is due after that step is still to be done.
  const param::StartPoint& begun = ends_.steps.begun;
  const std::uint64_t dealt_with = ends_.memory.vitals(0).told.load(std::memory_order_acquire);
  Version common = exchange.in_step ? begun.version + dealt_with - begun.steps.at(0)
                   : newest.empty() ? 0
                                    : newest.front().version;
  for (const auto& record : newest) common = std::min(common, record.version);
  for (const auto& slice : ends_.slices().all())
    if (!published(slice).find(slice.id, common, newest[slice.id]))
      return Status::internal("slice ", slice.id, " is at version ", newest[slice.id].version, ", and its version ",
                              common, " is gone");
  return newest;
}

// A server group's value is the sum of what it learned and what it heard from the others. So all begin again with what
// each has learned.
std::span<std::byte> Salvage::value(std::size_t param, const std::vector<Records>& records) {
  const param::Masters& first = ends_.memory.masters_of(0);
  const auto newest = gathered_.whole(
      ends_.slices(), param, [&](const param::Slice& slice) { return first.value(param, records[0][slice.id].value); });
  if (ends_.layout.exchange.groups == plan::Exchange::Groups::one) return newest;
  const auto whole = gathered_.copied(newest);
  auto* const values = reinterpret_cast<float*>(whole.data());
  const auto floats = [](std::span<const std::byte> row) { return reinterpret_cast<const float*>(row.data()); };
  const Sync& sync = *ends_.layout.plugins.sync().plugin;
  for (const auto& slice : ends_.slices().of(param)) {
    const float* begun = floats(first.shared(param, param::GroupSync::begun_row(sync)));
    for (auto i = slice.first; i < slice.first + slice.count; ++i) {
      double learned = 0;
      for (std::uint32_t group = 0; group < ends_.layout.map.server_groups(); ++group) {
        const auto& record = records[group][slice.id];
        const param::Masters& masters = ends_.memory.masters_of(group);
        const float* heard = floats(masters.shared(param, param::GroupSync::heard_row(sync, record.heard)));
        learned += double{floats(masters.value(param, record.value))[i]} - double{begun[i]} - double{heard[i]};
      }
      values[i] = static_cast<float>(double{begun[i]} + learned);
    }
  }
  return whole;
}

// For each slice, and for each worker at the servers of its server group.
param::StartPoint Salvage::reached_by(const std::vector<Records>& records) const {
  const std::uint32_t workers = ends_.layout.map.workers();
  param::StartPoint reached{.others = std::vector<Version>(records.size() - 1),
                            .steps = std::vector<std::uint64_t>(workers, ~std::uint64_t{0})};
  for (std::size_t slice = 0; slice < records[0].size(); ++slice) {
    param::StartPoint::OfSlice& there = reached.slices.emplace_back();
    there.version = records[0][slice].version;
    for (const Records& of_group : records)
      there.steps.insert(there.steps.end(), of_group[slice].applied.begin(), of_group[slice].applied.end());
    for (std::size_t other = 0; other < reached.others.size(); ++other)
      there.others.push_back(records[1 + other][slice].version);
    for (std::uint32_t worker = 0; worker < workers; ++worker)
      reached.steps[worker] = std::min(reached.steps[worker], there.steps[worker]);
  }
  if (ends_.layout.exchange.by_step && !reached.slices.empty()) {
    count_chosen(reached.slices);
    for (std::uint32_t worker = 0; worker < workers; ++worker)
      reached.steps[worker] = reached.slices.front().steps[worker];
  }
  // Workers that send only differences begin with the servers' values, and keep what their codecs left out.
  reached.own_values = !ends_.layout.exchange.workers_keep();
  // The leader repeats the steps that it has not dealt with: servers know that they have them.
  reached.steps[0] = std::min(reached.steps[0], ends_.memory.vitals(0).told.load(std::memory_order_acquire));
  reached.sum_up();
  return reached;
}

// If groups are chosen for whole steps, all slices of a version have the same steps. Some servers may not have heard
// yet which steps are in no version.
void Salvage::count_chosen(std::vector<param::StartPoint::OfSlice>& slices) const {
  const std::uint32_t each = ends_.layout.map.workers_of_group();
  for (std::uint32_t first = 0; first < ends_.layout.map.workers(); first += each) {
    std::uint64_t most = 0;
    for (const auto& slice : slices)
      for (std::uint32_t worker = first; worker < first + each; ++worker) most = std::max(most, slice.steps[worker]);
    for (auto& slice : slices) std::fill_n(slice.steps.begin() + first, each, most);
  }
}

Result<param::StartPoint> Salvage::read() {
  std::vector<Records> records;
  for (std::uint32_t group = 0; group < ends_.layout.map.server_groups(); ++group) {
    DLHOST_ASSIGN(records.emplace_back(), surviving(group));
  }
  param::Store& store = ends_.session.store();
  const param::Masters& first = ends_.memory.masters_of(0);
  for (const auto& param : store.params()) {
    const std::size_t number = param->number;
    if (ends_.slices().of(number).empty()) continue;
    store.move(*param, value(number, records));
    for (std::size_t slot = 0; slot < param->history.size(); ++slot)
      store.move_history(*param, slot, gathered_.whole(ends_.slices(), number, [&](const param::Slice& slice) {
        return first.history(number, slot, records[0][slice.id].history);
      }));
  }
  records_ = std::move(records);
  return reached_by(*records_);
}

} // namespace dlhost::run
