// A thread that watches the others: their locks, loops and signal masks cannot block it. It takes the signals that end
// a process, so that these arrive even if every other thread blocks them.
//
// Thread: any. A forked child has no watchdog until it starts one.
#pragma once

#include <dlhost/host.h>

namespace dlhost::env {

// The watchdog calls it with the time of its own steady clock. Returns how long to sleep until the next call.
using Look = Nanoseconds (*)(Nanoseconds now);

// Starts the watchdog if it does not run. One Look per process. If the system gives no thread, nothing is watched.
void start_watchdog(Look) noexcept;
// Makes the watchdog call its Look at once.
void wake_watchdog() noexcept;

} // namespace dlhost::env
