// Ctrl-C and SIGTERM: the first asks the run to save and end; a second Ctrl-C ends the process at once.
#pragma once

#include <atomic>

namespace dlhost::env {

void catch_interrupts();
// The end of standard input, which whoever started this process holds, asks as well.
void end_with_input();
const std::atomic<bool>& interrupted();

} // namespace dlhost::env
