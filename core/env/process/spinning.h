// How long threads that wait for one another keep a processor.
#pragma once

namespace dlhost::env {

// libgomp's threads spin for milliseconds before they sleep. Where others want the processors too, the one that is
// waited for gets none meanwhile: small nets become a hundred times as slow. libgomp reads its settings when it is
// loaded, so that the program begins anew, once, with a shorter time; what the user has set is left as it is.
void spin_briefly(char** arguments);

} // namespace dlhost::env
