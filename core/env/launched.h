// How this process was started: on which machine, and whether by a launcher that starts many at once.
#pragma once

#include <string>

namespace dlhost::env {

// The rendezvous that the launcher offers: "pmix" under srun --mpi=pmix, mpirun and prterun; empty: there is none.
std::string launcher();
std::string host_name();

} // namespace dlhost::env
