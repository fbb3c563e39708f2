// What lies where in a worker's own memory, which all workers of its machine map: contributions, codec state, own
// values (plan::TablePlan), then running state, vitals, numbers, words, published versions, and rows for other server
// groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "param/table/shared_params.h"
#include "plan/exchange.h"
#include "plan/exchange_plugins.h"
#include "plan/place.h"
#include "plan/table_plan.h"
#include "plan/worker_map.h"

namespace dlhost::run {

struct WorkerMemory : plan::TablePlan::OfWorker {
  static constexpr std::size_t most_metrics = 256;
  static constexpr std::size_t words_bytes = 4096; // of the reason why the worker failed

  std::vector<std::size_t> states; // running state
  std::size_t vitals = 0, numbers = 0, words = 0;
  std::size_t published = 0, published_bytes = 0; // what outlives the server beside the worker
  std::size_t exchanged = 0;                      // rows that its server exchanges; all above is alike for all workers
  std::size_t bytes = 0;
};

// One worker's part in the exchange of params, resolved: everything that follows from the job, its plugins and the
// worker's number.
class WorkerLayout final : public param::SharedLayout {
 public:
  // `machines`: of each worker. `publishes`: servers put what outlives them where others see it.
  WorkerLayout(const config::Job&, const plan::Exchange&, plan::ExchangePlugins, const Updater&,
               std::vector<std::uint32_t> machines, std::uint32_t number, bool publishes);
  WorkerLayout(const WorkerLayout&) = delete; // the table's plan refers to the plugins

  Bytes bytes(const param::Store&) const override;
  std::optional<param::Factors> factors(const param::Param& param, const param::Factors& own,
                                        const param::Pieces& pieces) const override {
    return table.factors(param, own, pieces);
  }
  WorkerMemory memory(const param::Store&) const;

  // The number of this worker's server among those of its server group. Requires: serves().
  std::uint32_t server() const { return number_ - map.home_of(place.server_group); }
  // A server runs beside this worker.
  bool serves() const { return exchange.has_servers() && server() < map.servers(); }

  const plan::Exchange exchange;
  const plan::ExchangePlugins plugins;
  const plan::WorkerMap map;
  const plan::Place place;
  const plan::TablePlan table;

 private:
  const std::uint32_t number_;
  const bool publishes_;
};

} // namespace dlhost::run
