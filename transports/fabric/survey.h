// Chooses libfabric's provider if the job names none: of those that reach other machines the best known, or one that is
// clearly faster in a short trial.
#pragma once

#include <string>
#include <vector>

#include <dlhost/transport.h>

namespace dlhost::plugins::fabric {

// All providers, usable ones measured for `span` each, with the choice and its reason. `at`: this machine's address.
std::vector<Transport::Way> survey(Host&, const std::string& at, Nanoseconds span);

// The chosen provider for endpoints at that address, constant during the process' life. Measures for some hundredths of
// a second if there are several; the log has the reason at debug level.
Result<std::string> best_provider(Host&, const std::string& at);

} // namespace dlhost::plugins::fabric
