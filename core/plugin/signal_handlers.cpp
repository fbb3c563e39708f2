#include "plugin/signal_handlers.h"

namespace dlhost::plugin {

SignalHandlers::SignalHandlers() {
  for (int number = 1; number <= SIGSYS; ++number) sigaction(number, nullptr, &handlers_[number]);
}

bool SignalHandlers::restore() const {
  bool changed = false;
  for (int number = 1; number <= SIGSYS; ++number) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler == handlers_[number].sa_handler) continue;
    changed |= sigaction(number, &handlers_[number], nullptr) == 0;
  }
  return changed;
}

} // namespace dlhost::plugin
