// Signals that a write can bring, where an error is told instead.
#pragma once

namespace dlhost::env {

// A file that grows beyond the limit of this process (`ulimit -f`) is an error like a full disk. For main.
void tell_file_limits();

// A write that nobody reads any more fails, instead of ending the process: a run goes on when the pager or the terminal
// that showed it is gone.
void outlive_readers();

} // namespace dlhost::env
