// How this process was started: on which machine, and whether by a launcher that starts many at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <dlhost/status.h>

namespace dlhost::env {

// The rendezvous that the launcher offers: "pmix" under srun --mpi=pmix, mpirun and prterun; empty: there is none.
std::string launcher();
// Which of its job's pods this is, in Kubernetes; none: it is in no such job.
std::optional<std::uint32_t> index_in_job();
std::string host_name();
bool is_this_machine(const std::string& host);
// The address of this machine from which that host is reached.
Result<std::string> own_address_towards(const std::string& host);

} // namespace dlhost::env
