// How long waiting OpenMP threads keep their processor.
#pragma once

namespace dlhost::env {

// libgomp's threads spin for milliseconds before they sleep. If other threads want the processors, the awaited thread
// gets none meanwhile: small nets become a hundred times as slow. libgomp reads its settings at load, so the program
// restarts itself once with a shorter spin. The user's own settings stay.
void spin_briefly(char** arguments);

} // namespace dlhost::env
