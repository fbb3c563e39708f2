#include "plan/check_partition.h"

#include <algorithm>

#include <dlhost/partition.h>

#include "plan/param_parts.h"
#include "plan/partition.h"
#include "plan/place.h"

namespace dlhost::plan {
namespace {

bool by_rows(const LayerPart& part) { return part.scheme == axis_name(0); }

bool keeps_state(const net::Node& node) {
  return std::ranges::any_of(node.setup.buffers, [](const BufferSpec& buffer) {
    return buffer.life == Life::running || buffer.life == Life::carried;
  });
}

// Something that a run with a divided net cannot have.
struct Limit {
  const char* key;
  bool (*is_asked)(const config::Job&, const Exchange&);
  const char* message;
};

constexpr Limit limits[] = {
    {"topology.device_copies", [](const config::Job&, const Exchange& exchange) { return !exchange.has_servers(); },
     "each worker's device updates all params, and the net is divided: workers have only some; leave it out"},
    {"topology.consistency", [](const config::Job&, const Exchange& exchange) { return exchange.by_step; },
     "it chooses whole steps of groups, and the net is divided: a worker's contribution is of some params; take "
     "\"strict\""},
    {"topology.consistency", [](const config::Job&, const Exchange& exchange) { return exchange.own_values; },
     "workers update values of their own, and the net is divided: no worker has all; take \"strict\""},
    {"topology.consistency",
     [](const config::Job& job, const Exchange& exchange) {
       return !exchange.in_step && job.topology.worker_groups > 1;
     },
     "groups make steps at their own pace, and the net is divided: a pause would find groups in the middle of a step, "
     "with some of its updates sent; take \"strict\", or one worker group"},
    {"updater.clip_norm",
     [](const config::Job& job, const Exchange& exchange) {
       return job.updater.clip_norm > 0 && !exchange.whole_versions;
     },
     "each worker clips its own gradients under this consistency, and the net is divided: none has all; take "
     "topology.consistency = \"strict\", whose servers clip"},
    {"record.gradient_norm",
     [](const config::Job& job, const Exchange& exchange) {
       return job.updater.clip_norm == 0 && job.largest_norm() > 0 && !exchange.whole_versions;
     },
     "each worker has its own gradients' norm under this consistency, and the net is divided: none has all; take "
     "topology.consistency = \"strict\", or leave it out"},
    {"train.reproducible", [](const config::Job& job, const Exchange&) { return job.train.reproducible; },
     "sums are made in blocks of each worker's rows, and the net is divided otherwise; leave it out"},
    {"topology.machines", [](const config::Job& job, const Exchange&) { return job.topology.machines > 1; },
     "features go between the workers of a group, in this version on one machine; leave out partition and location"},
};

} // namespace

void check_partition(const net::Graph& net, const config::Job& job, const DividedRun* run, config::Problems& problems) {
  const auto parts = layer_parts(net, job, Place::bounds_of_rows(job), problems);
  if (!parts || !run || std::ranges::all_of(*parts, by_rows) || job.topology.workers_per_group == 1) return;
  const std::size_t before = problems.count();
  for (std::size_t n = 0; n < parts->size(); ++n) {
    const net::Node& node = net.nodes()[n];
    const char* why = why_no_parts(net, *parts, n);
    if (!why && keeps_state(node) && !by_rows((*parts)[n]))
      why =
          "and it keeps state from step to step, which only layers do that all workers compute by rows; take \"batch\"";
    if (why) problems.of_layer(node.name, node.where, "is cut by \"", (*parts)[n].scheme, "\", ", why);
  }
  for (const Limit& limit : limits)
    if (limit.is_asked(job, run->exchange) && !problems.refused(limit.key))
      problems.of_key(limit.key, job.place(limit.key), limit.message);
  if (problems.count() > before || !run->sums_over_params) return;
  for (const auto& [name, of] : param_parts(net, *parts))
    if (of.size() > 1) {
      problems.of_key("updater.type", job.place("updater.type"), "it needs sums over whole params, and '", name,
                      "' is in parts: not in this version; take another updater, or \"batch\" or location = WORKER for "
                      "the layer");
      return;
    }
}

} // namespace dlhost::plan
