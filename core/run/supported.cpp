#include "run/supported.h"

#include "config/problems.h"

namespace dlhost::run {

// One worker holds the net and its params: there are no groups, no servers and no messages between them.
Status check_supported(const config::Job& job) {
  const config::Topology& topology = job.topology;
  const config::Topology alone;
  config::Problems problems;
  const auto refuse = [&](bool asked, const char* key, const auto& value) {
    if (asked)
      problems.add(topology.where, "topology.", key, " = ", value,
                   ": not in this version, which trains with one worker in one process; leave it out");
  };
  const auto count = [&](const char* key, std::int64_t value) { refuse(value != 1, key, value); };
  count("worker_groups", topology.worker_groups);
  count("workers_per_group", topology.workers_per_group);
  count("server_groups", topology.server_groups);
  count("servers_per_group", topology.servers_per_group);
  refuse(topology.run_as != alone.run_as, "run_as", "\"processes\"");
  const auto part = [&](const char* key, const Part& given, const Part& usual) {
    refuse(given.type != usual.type, key, detail::written(given));
  };
  part("consistency", topology.consistency, alone.consistency);
  part("sync", topology.sync, alone.sync);
  part("transport", topology.transport, alone.transport);
  part("rendezvous", topology.rendezvous, alone.rendezvous);
  return problems.status();
}

} // namespace dlhost::run
