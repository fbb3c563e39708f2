// How the params of a net are exchanged through servers: what workers send of each, in how many slices it is cut, how
// many versions of it are kept, and what memory that takes. A pure function of the job, its plugins and its net, so
// every worker computes the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <dlhost/updater.h>

#include "param/codec/coding.h"
#include "param/store/factors.h"
#include "param/store/store.h"
#include "param/table/slices.h"
#include "param/table/table_memory.h"
#include "plan/exchange.h"
#include "plan/exchange_plugins.h"
#include "plan/place.h"
#include "plan/worker_map.h"
#include "record/traffic.h"

namespace dlhost::plan {

class TablePlan {
 public:
  // Keeps the references. `place`: of the worker that computes the plan.
  TablePlan(const config::Job& job, const Exchange& exchange, const ExchangePlugins& plugins, Updater::Rule updates,
            const WorkerMap& map, const Place& place)
      : job_(job), exchange_(exchange), plugins_(plugins), updates_(std::move(updates)), map_(map), place_(place),
        servers_(static_cast<std::uint32_t>(job.topology.servers_per_group)) {}

  // The factors that workers send in place of the gradient, as in param::SharedParams.
  std::optional<param::Factors> factors(const param::Param&, const param::Factors& own, const param::Pieces&) const;

  // A worker's own memory, as far as params are concerned: what it sends, what its codec keeps, its own values.
  struct OfWorker {
    param::Gradients gradients;
    param::Slices slices;
    std::optional<param::Coding> coding;         // of what goes through the codec
    std::optional<param::ReplicaPlaces> replica; // the worker's own values
    std::size_t sent = 0;                        // servers read up to here
    std::size_t end = 0;
  };
  OfWorker lay_out(const param::Store&) const;
  // The servers' memory of one server group: the same for all groups.
  param::Masters masters(const param::Store&) const;

  // Bytes of the rows that a server exchanges with other server groups.
  std::size_t exchanged_bytes(const OfWorker&, std::uint32_t server_group, std::uint32_t server) const;
  std::size_t rows_bound() const { return static_cast<std::size_t>(job_.topology.exchange_memory); }
  // Bytes in which all servers together decode, fold and multiply.
  std::size_t summed_bytes(const param::Store&, const OfWorker&) const;

  // The traffic of a worker to other machines in each step; empty: it depends on the pace of others, or all workers run
  // on one machine.
  std::optional<record::Freight> freight(const param::Store&, const param::Slices&, std::uint32_t worker) const;

  // What server groups keep that others do not have, and a run continues with.
  bool servers_keep() const {
    return exchange_.exchanges_values() && !(updates_.history.empty() && shared_histories().empty());
  }
  // Histories of the values that server groups have in common.
  std::vector<Updater::History> shared_histories() const;

  // Params that the updater changes, for people.
  struct Row {
    std::string_view param;
    std::string_view sent;      // "gradient", "factors", "encoded gradient", ...
    std::size_t slices = 0;     // each served by one server
    std::size_t versions = 0;   // values that exist at once, in each server group
    std::size_t sent_bytes = 0; // by a worker in a step
    std::size_t kept_bytes = 0; // values, histories and rows of one server group
  };
  std::vector<Row> rows(const param::Store&) const;

 private:
  bool has_sums() const { return !updates_.partials.results().empty(); }
  bool is_whole(const param::Param&) const; // it is not cut
  bool is_encoded(const param::Param&) const;
  param::Slices cut(const param::Store&, const param::Gradients&) const;
  param::Slices::Parts parts(const param::Store&) const;
  std::size_t readers() const;
  param::Masters::Copies copies(const param::Store&) const;
  std::size_t multiplying_bytes(const param::Store&, const param::Slices&) const;

  const config::Job& job_;
  const Exchange& exchange_;
  const ExchangePlugins& plugins_;
  const Updater::Rule updates_;
  const WorkerMap& map_;
  const Place place_;
  const std::uint32_t servers_;
};

} // namespace dlhost::plan
