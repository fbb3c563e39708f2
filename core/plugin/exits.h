// Finds ends of the process that dlhost did not order: a plugin, or a library that it brought, calls exit, with any
// status, or replaces the program by exec. This is a fault, reported like a crash.
#pragma once

namespace dlhost::plugin {

// Called once by main. Registers the check that runs when the process ends.
void install_exit_guard();
// Called by main at the end: the process ends with this status. From here on the exit handlers of libraries have a time
// limit.
void order_end(int status);
// The code at `caller` called `call` ("exit") with `status`. Returns if that is no fault: a forked child ends, or code
// of this program calls.
void judge_exit(const char* call, int status, const void* caller);
// The same for a `call` ("execv") that replaces the program of this process by `program`. Async-signal-safe.
void judge_exec(const char* call, const char* program, const void* caller);

} // namespace dlhost::plugin
