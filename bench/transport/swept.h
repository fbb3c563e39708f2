// Runs a benchmark in a child process, and removes the shared memory that a killed child leaves: memory with a name
// outlives the process that made it.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace dlhost::bench {

// The prefix of the names of Boost.Interprocess' queues that a process makes.
std::string queue_name(pid_t process);

// Returns the work's result. If a signal ends the work, sweeps, then raises the signal in this process.
int sweep_after(const std::function<int()>& work);

} // namespace dlhost::bench
