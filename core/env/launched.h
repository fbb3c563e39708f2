// How this process was started: on which machine, and whether by a launcher that starts many at once.
#pragma once

#include <string>

#include <dlhost/status.h>

namespace dlhost::env {

// The rendezvous that the launcher offers: "pmix" under srun --mpi=pmix, mpirun and prterun; empty: there is none.
std::string launcher();
std::string host_name();
bool is_this_machine(const std::string& host);
// The address of this machine from which that host is reached.
Result<std::string> own_address_towards(const std::string& host);

} // namespace dlhost::env
