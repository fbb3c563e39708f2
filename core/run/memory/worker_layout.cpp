#include "run/memory/worker_layout.h"

#include <utility>

#include "param/server/surviving_versions.h"
#include "run/memory/vitals.h"

namespace dlhost::run {

WorkerLayout::WorkerLayout(const config::Job& job, const plan::Exchange& resolved, plan::ExchangePlugins made,
                           const Updater& updater, std::vector<std::uint32_t> machines, std::uint32_t number,
                           bool publishes)
    : exchange(resolved), plugins(std::move(made)), map(job.topology, std::move(machines)),
      place(plan::Place::at(job, number, exchange)), table(job, exchange, plugins, updater.rule(), map, place),
      number_(number), publishes_(publishes) {}

WorkerMemory WorkerLayout::memory(const param::Store& store) const {
  WorkerMemory memory{table.lay_out(store)};
  memory.vitals = memory.end;
  for (const auto& state : store.states())
    memory.states.push_back(param::take_lines(memory.vitals, store.computing().device.bytes(state->desc)));
  memory.numbers = memory.vitals + sizeof(Vitals);
  memory.words = memory.numbers + WorkerMemory::most_metrics * 2 * sizeof(double);
  memory.published = memory.words + WorkerMemory::words_bytes;
  memory.published_bytes = publishes_ ? param::SurvivingVersions::bytes(memory.slices.size(), map.workers()) : 0;
  memory.bytes = memory.exchanged = memory.published + memory.published_bytes;
  if (serves()) memory.bytes += table.exchanged_bytes(memory, place.server_group, server());
  return memory;
}

param::SharedLayout::Bytes WorkerLayout::bytes(const param::Store& store) const {
  const WorkerMemory memory = this->memory(store);
  Bytes bytes{.own = memory.bytes,
              .common = place.server_groups * table.masters(store).bytes(),
              .summed = table.summed_bytes(store, memory)};
  for (const auto& param : store.params())
    if (exchange.workers_keep() && param->updated) bytes.saved += param->master.plain_bytes() * (1 + param->slots);
  if (memory.coding) bytes.saved += memory.coding->kept_bytes();
  return bytes;
}

} // namespace dlhost::run
