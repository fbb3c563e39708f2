#include "env/process/write_signals.h"

#include <csignal>

namespace dlhost::env {

void tell_file_limits() { std::signal(SIGXFSZ, SIG_IGN); }
void outlive_readers() { std::signal(SIGPIPE, SIG_IGN); }

} // namespace dlhost::env
