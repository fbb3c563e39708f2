#include "run/supported.h"

#include "config/problems.h"

namespace dlhost::run {

// Workers of one machine, with one group of servers beside them.
Status check_supported(const config::Job& job) {
  const config::Topology& topology = job.topology;
  const config::Topology alone;
  config::Problems problems;
  const auto refuse = [&](bool asked, const char* key, const auto& value) {
    if (asked)
      problems.add(topology.where, "topology.", key, " = ", value,
                   ": not in this version, whose workers are on one machine with one group of servers; leave it "
                   "out");
  };
  const auto count = [&](const char* key, std::int64_t value) { refuse(value != 1, key, value); };
  count("server_groups", topology.server_groups);
  if (topology.servers_per_group > topology.worker_groups * topology.workers_per_group)
    problems.add(topology.where, "topology.servers_per_group = ", topology.servers_per_group, " with ",
                 topology.worker_groups * topology.workers_per_group,
                 " workers: a server sits beside a worker in this version; ask for as many at most");
  if (topology.workers_per_group > job.train.batch)
    problems.add(topology.where, "topology.workers_per_group = ", topology.workers_per_group, ": a batch of ",
                 job.train.batch, " has no row for some of them; make the batch larger");
  const auto part = [&](const char* key, const Part& given, const Part& usual) {
    refuse(given.type != usual.type, key, detail::written(given));
  };
  part("sync", topology.sync, alone.sync);
  part("rendezvous", topology.rendezvous, alone.rendezvous);
  return problems.status();
}

} // namespace dlhost::run
