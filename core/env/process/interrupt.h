// Ctrl-C, SIGTERM and a closed terminal: the first asks the run to save and end; a second Ctrl-C ends the process at
// once.
#pragma once

#include <atomic>
#include <string>

namespace dlhost::env {

// `told`: the text shown on the terminal at Ctrl-C. Requires: it lives as long as the process.
void catch_interrupts(const char* told = "");
// The end of standard input is an interrupt as well: the parent process holds the other end.
void end_with_input();
const std::atomic<bool>& interrupted();
// The cause, such as "by Ctrl-C". Empty: no interrupt.
std::string interrupted_by();

} // namespace dlhost::env
