// The signal handlers of this process. A library that installs handlers while it is loaded displaces the fault
// handlers; this restores them.
#pragma once

#include <array>
#include <csignal>

namespace dlhost::plugin {

class SignalHandlers {
 public:
  // Saves the present handlers.
  SignalHandlers();
  // Restores them; true: one had been changed.
  bool restore() const;

 private:
  std::array<struct sigaction, SIGSYS + 1> handlers_{}; // by signal number; without real-time signals
};

} // namespace dlhost::plugin
