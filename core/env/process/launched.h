// How this process was started: on which machine, and by which launcher.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <dlhost/status.h>

namespace dlhost::env {

// The exit status of a process that `dlhost launch` started, once its run has ended well. Not 0: a plugin can end its
// process with that, past every guard.
inline constexpr int ended_well = 64;

// The rendezvous of the launcher: "pmix" under srun --mpi=pmix, mpirun and prterun; empty: none.
std::string launcher();
// The pod's index in its Kubernetes job; none: not in such a job.
std::optional<std::uint32_t> index_in_job();
std::string host_name();
bool is_this_machine(const std::string& host);
// The address of this machine on the route to `host`.
Result<std::string> own_address_towards(const std::string& host);

} // namespace dlhost::env
