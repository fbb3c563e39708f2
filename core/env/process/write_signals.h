// Write errors instead of signals that end the process.
#pragma once

namespace dlhost::env {

// A file beyond the process' size limit (`ulimit -f`) becomes an error like a full disk. Call in main.
void tell_file_limits();

// Writing to a closed pipe becomes an error: a run goes on when its pager or terminal is gone.
void outlive_readers();

} // namespace dlhost::env
