// The three standard files of a process, for parents that have closed one.
#pragma once

#include <dlhost/status.h>

namespace dlhost::env {

// Call first in main: a closed standard file becomes the null device. Else the next opened file would take its number
// and get the program's output.
void hold_standard_files();

// Call last in main. Errors: what was printed could not be written.
Status flush_standard_output();

} // namespace dlhost::env
