// The file that says how a run went, prepared for an end that nobody ordered: a handler of signals, or whoever finds
// that this process hangs, only puts the reason in.
#pragma once

#include <string>
#include <string_view>

namespace dlhost::env {

// Should this process fail, the file `path` becomes `before`, the reason as JSON would have it, and `after`. One at a
// time; an empty path: none. Thread: one at a time.
void prepare_failure_note(const std::string& path, const std::string& before, const std::string& after);
// Writes it, once. Async-signal-safe.
void write_failure_note(std::string_view reason) noexcept;

} // namespace dlhost::env
