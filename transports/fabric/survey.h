// Which of libfabric's providers is taken where the job names none: of those that reach other machines the one that is
// known to be the best, or one that a short trial shows to be clearly faster.
#pragma once

#include <string>
#include <vector>

#include <dlhost/transport.h>

namespace dlhost::plugins::fabric {

// All that there are, those of use measured for `span` each, with which is taken and why. `at`: this machine's address.
std::vector<Transport::Way> survey(Host&, const std::string& at, Nanoseconds span);

// The one that is taken, for endpoints at that address: the same in all of a process' life. Who has several to choose
// from tries them for some hundredths of a second; the log says why, at debug level.
Result<std::string> best_provider(Host&, const std::string& at);

} // namespace dlhost::plugins::fabric
