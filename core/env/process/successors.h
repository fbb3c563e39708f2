// Whether a standby may continue this process' work after it is gone: it may while the file exists. A process that is
// killed leaves the file. One that ends by itself (a second Ctrl-C, a crash) removes it.
#pragma once

#include <string>

namespace dlhost::env {

// Names the file. The last call counts; an empty path: none.
void leave_to_heirs(const std::string& path);
// Removes the file. Async-signal-safe.
void disinherit() noexcept;

} // namespace dlhost::env
