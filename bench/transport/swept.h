// Runs a benchmark in a child process, and removes the shared memory that a killed child leaves: memory with a name
// outlives the process that made it.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace dlhost::bench {

// Names of Boost.Interprocess' queues that a process makes begin so.
std::string queue_name(pid_t process);

// Returns what the work returns. Where it is ended by a signal, so is this process, when all is swept.
int sweep_after(const std::function<int()>& work);

} // namespace dlhost::bench
