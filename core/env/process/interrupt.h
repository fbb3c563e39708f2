// Ctrl-C, SIGTERM and a terminal that is closed: the first asks the run to save and end; a second Ctrl-C ends the
// process at once.
#pragma once

#include <atomic>
#include <string>

namespace dlhost::env {

// `told`: what is said on the terminal where Ctrl-C was pressed; lives as long as the process.
void catch_interrupts(const char* told = "");
// The end of standard input, which whoever started this process holds, asks as well.
void end_with_input();
const std::atomic<bool>& interrupted();
// By what: "by Ctrl-C". Empty: nothing was asked.
std::string interrupted_by();

} // namespace dlhost::env
