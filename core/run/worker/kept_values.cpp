#include "run/worker/kept_values.h"

#include <algorithm>
#include <iterator>

namespace dlhost::run {

std::vector<std::vector<param::TensorPlace>> KeptValues::of_workers() {
  std::vector<std::vector<param::TensorPlace>> all;
  gathered_.clear();
  const plan::WorkerMap& map = ends_.layout.map;
  const bool workers_keep = ends_.layout.exchange.workers_keep(), servers_keep = ends_.layout.table.servers_keep();
  const auto& coding = ends_.memory.places().coding;
  const bool codec_keeps = coding && coding->keeps();
  if (!workers_keep && !codec_keeps && !servers_keep) return all;
  for (std::uint32_t worker = 0; worker < map.workers(); ++worker) {
    auto& own = all.emplace_back();
    if (codec_keeps) own = by_codec(worker);
    for (std::uint32_t group = 0; servers_keep && group < map.server_groups(); ++group)
      if (worker == map.home_of(group)) std::ranges::move(by_servers(group), std::back_inserter(own));
    // A worker that died may have been in the middle of an update.
    if (workers_keep && !salvage_.records()) add_own_values(worker, own);
  }
  return all;
}

void KeptValues::add_own_values(std::uint32_t worker, std::vector<param::TensorPlace>& own) const {
  const auto histories = ends_.session.updater().rule().history;
  std::byte* const memory = ends_.memory.of(worker).data();
  for (const auto& param : ends_.session.store().params()) {
    const std::string& name = param->declared.name;
    const auto& places = ends_.memory.places().replica->of(param->number);
    if (places.bytes == 0) continue;
    own.push_back({name, param->master, memory + places.value});
    for (std::size_t slot = 0; slot < places.history.size(); ++slot)
      own.push_back({name + "/" + histories[slot].name, param->master, memory + places.history[slot]});
  }
}

// If groups are chosen for whole steps, a step that only some workers of a group have sent is repeated.
std::vector<param::TensorPlace> KeptValues::by_codec(std::uint32_t worker) {
  const plan::WorkerMap& map = ends_.layout.map;
  const std::uint32_t group = map.server_group_of(worker);
  const auto& salvaged = salvage_.records();
  const auto& reached = ends_.steps.reached.steps;
  const bool goes_back = salvaged || (ends_.layout.exchange.by_step && !reached.empty());
  const auto before = [&](SliceId slice) {
    return salvaged ? (*salvaged)[group][slice].applied[worker - map.home_of(group)] : reached[worker];
  };
  return ends_.memory.places().coding->kept(ends_.memory.of(worker),
                                            goes_back ? param::Coding::Before(before) : nullptr, gathered_.copies());
}

// The first group's histories are the checkpoint's own; the histories of the common values are the same in all groups.
std::vector<param::TensorPlace> KeptValues::by_servers(std::uint32_t server_group) {
  std::vector<param::TensorPlace> kept;
  const auto histories = ends_.session.updater().rule().history;
  const auto common = ends_.layout.table.shared_histories();
  for (const auto& param : ends_.session.store().params()) {
    if (!param->updated) continue;
    const std::string& name = param->declared.name;
    const auto keep = [&](const std::string& what, std::span<std::byte> row) {
      kept.push_back({concat(name, "/", what), param->master, row.data()});
    };
    for (std::size_t slot = 0; server_group > 0 && slot < param->slots; ++slot)
      keep(concat("servers.", histories[slot].name), newest_history(server_group, param->number, slot));
    for (std::size_t slot = 0; server_group == 0 && slot < common.size(); ++slot)
      keep(concat("common.", common[slot].name), ends_.memory.masters().shared(param->number, 1 + slot));
  }
  return kept;
}

// If versions outlive their servers there are several histories, and each server has published which is its newest. A
// group that was lost before this worker came will begin with this one's histories.
std::span<std::byte> KeptValues::newest_history(std::uint32_t server_group, std::size_t param, std::size_t slot) {
  if (!ends_.memory.sees_masters_of(server_group)) server_group = ends_.layout.place.server_group;
  const param::Masters& masters = ends_.memory.masters_of(server_group);
  return gathered_.whole(ends_.slices(), param, [&](const param::Slice& slice) {
    std::size_t newest = 0;
    if (ends_.layout.exchange.versions_outlive)
      if (const auto published = ends_.memory.published_of(server_group, slice); published.has(slice.id))
        newest = published.newest(slice.id).history;
    return masters.history(param, slot, newest);
  });
}

// Servers told at the last alignment where their newest values lie. This worker does not see all that servers on other
// machines write.
std::vector<std::vector<param::TensorPlace>> KeptValues::of_server_groups() {
  std::vector<std::vector<param::TensorPlace>> all;
  const plan::WorkerMap& map = ends_.layout.map;
  const std::uint32_t machine = map.machine_of(ends_.number);
  for (std::uint32_t group = 0; group < alignment_.groups(); ++group) {
    const auto is_far = [&](std::uint32_t worker) { return map.machine_of(worker) != machine; };
    if (group == ends_.layout.place.server_group || lost_.lacks(group)) continue;
    if (std::ranges::any_of(map.servers_of(group), is_far)) continue;
    auto& values = all.emplace_back();
    for (const auto& param : ends_.session.store().params()) {
      if (!param->updated) continue;
      const auto value = gathered_.whole(ends_.slices(), param->number, [&](const param::Slice& slice) {
        return ends_.memory.masters_of(group).value(param->number, alignment_.of(group, slice.id).place);
      });
      values.push_back({param->declared.name, param->master, value.data()});
    }
  }
  return all;
}

} // namespace dlhost::run
