// The three files that a process starts with, when whoever started it was careless with them.
#pragma once

#include <dlhost/status.h>

namespace dlhost::env {

// First thing in main: where one is closed, the null device takes its place. Else the next file that is opened would,
// and words for people would land in it.
void hold_standard_files();

// Last thing in main: what was printed is written, or why it could not be.
Status flush_standard_output();

} // namespace dlhost::env
