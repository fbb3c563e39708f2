// A thread that looks after the others: no lock, no loop and no signal mask of theirs holds it up. It takes the signals
// that end a process, so that these arrive where every other thread has blocked them.
//
// Thread: any. A forked child has none until it asks for one.
#pragma once

#include <dlhost/host.h>

namespace dlhost::env {

// Called by the watchdog, with the time by its own steady clock: returns how long it may sleep until the next call.
using Look = Nanoseconds (*)(Nanoseconds now);

// Starts it where it does not run yet. One look a process. Where the system gives no thread, nothing is watched.
void start_watchdog(Look) noexcept;
// Looks at once: what is to be looked at has changed.
void wake_watchdog() noexcept;

} // namespace dlhost::env
