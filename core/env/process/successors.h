// Whether others may go on with what this process does when it is gone: they may while a file of its making is there.
// Being killed leaves it; what ends this process by its own doing (a second Ctrl-C, a crash of its code) takes it away.
#pragma once

#include <string>

namespace dlhost::env {

// One path at a time; empty: none.
void leave_to_heirs(const std::string& path);
// Async-signal-safe.
void disinherit() noexcept;

} // namespace dlhost::env
