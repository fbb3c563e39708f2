#include "run/session/supported.h"

#include <algorithm>
#include <utility>

#include "run/worker/place.h"

namespace dlhost::run {

namespace {

// What goes through servers, which there are none of where devices sum gradients; empty: nothing.
std::string why_not_on_devices(const config::Job& job) {
  const config::Topology& topology = job.topology;
  if (topology.server_groups > 1) return "no server groups exchange what they learn; leave topology.server_groups out";
  if (!topology.codec.type.empty()) return "nothing is sent that topology.codec could encode; leave it out";
  if (!topology.device.type.empty()) return "none of them lie on topology.device; leave it out";
  if (topology.device_workers > 0)
    return "all must compute on one kind of device; leave topology.workers_on_device out";
  if (topology.replicas > 1)
    return "they end with their worker, and the run goes on from its last point; leave topology.replicas out";
  if (job.train.reproducible)
    return "devices add in an order of their own; leave train.reproducible out, or topology.device_copies";
  return {};
}

} // namespace

bool computes_in_f16(const config::Job& job) {
  const auto is_f16 = [](const config::Layer& layer) { return layer.dtype == DType::f16; };
  return job.train.dtype == DType::f16 || std::ranges::any_of(job.layers, is_f16);
}

// Workers with servers beside them.
void check_supported(const config::Job& job, config::Problems& problems) {
  const config::Topology& topology = job.topology;
  for (const char* key : {"framework", "worker_groups", "workers_per_group", "server_groups", "servers_per_group"})
    if (problems.refused(concat("topology.", key))) return; // nothing is known of the counts
  const std::int64_t workers = topology.worker_groups / topology.server_groups * topology.workers_per_group;
  if (topology.server_groups > topology.worker_groups)
    problems.add(topology.where, "topology.server_groups = ", topology.server_groups, " with ", topology.worker_groups,
                 " worker groups: each serves one at least; ask for as many at most");
  else if (topology.servers_per_group > workers)
    problems.add(topology.where, "topology.servers_per_group = ", topology.servers_per_group, " with ", workers,
                 topology.server_groups > 1 ? " workers of a server group" : " workers",
                 ": a server sits beside a worker in this version; ask for as many at most");
  if ((topology.server_groups > 1) == topology.sync.type.empty() && !problems.refused("topology.sync"))
    problems.add(
        topology.where, "topology.sync: ",
        topology.sync.type.empty()
            ? concat("is missing: it says how ", topology.server_groups,
                     " server groups exchange what they learn; `dlhost inspect --kind sync` lists what there is")
            : "means something only with several server groups; leave it out, or set topology.server_groups");
  if (Place::sums_on_devices(topology))
    if (const auto why = why_not_on_devices(job); !why.empty())
      problems.add(topology.where, "topology.device_copies = \"none\" with ", Place::seats(topology),
                   " workers, who have all params for themselves: ", why);
  if (computes_in_f16(job) && Place::has_seats(topology))
    problems.add(topology.where,
                 "a net that computes in f16, whose gradients are scaled, is trained by one worker in this "
                 "version; take bf16, or one worker (and leave topology.device_copies out)");
  if (computes_in_f16(job) && job.updater.clip_value > 0)
    problems.add(job.place("updater.clip_value"), "updater.clip_value with a net that computes in f16, whose gradients "
                                                  "are scaled: take updater.clip_norm, or bf16");
  if (!topology.shares.empty() && std::cmp_not_equal(topology.shares.size(), topology.workers_per_group))
    problems.add(topology.where, "topology.batch_shares has ", topology.shares.size(),
                 " numbers, and topology.workers_per_group is ", topology.workers_per_group,
                 ": say one for each worker of a group, or none at all");
  if (topology.workers_per_group > job.train.batch && !problems.refused("train.batch"))
    problems.add(topology.where, "topology.workers_per_group = ", topology.workers_per_group, ": a batch of ",
                 job.train.batch, " has no row for some of them; make the batch larger");
}

} // namespace dlhost::run
