// The run's outcome file, prepared in advance for a crash or a hang: the signal handler or the watchdog adds only the
// reason.
#pragma once

#include <string>
#include <string_view>

namespace dlhost::env {

// If this process fails, the file `path` gets `before`, the reason as the inside of a JSON string, and `after`. The
// last call counts; an empty path: no file. Thread: one at a time.
void prepare_failure_note(const std::string& path, const std::string& before, const std::string& after);
// Writes the prepared note, once. Async-signal-safe.
void write_failure_note(std::string_view reason) noexcept;

} // namespace dlhost::env
