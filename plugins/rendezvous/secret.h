// The default secret, if none was handed over: only members of one process know each other.
#pragma once

#include <dlhost/rendezvous.h>

namespace dlhost::plugins::rendezvous {

JobSecret drawn_secret();
const JobSecret& secret_of_process();
inline JobSecret secret_of(const Joining& who) { return who.secret ? *who.secret : secret_of_process(); }

} // namespace dlhost::plugins::rendezvous
