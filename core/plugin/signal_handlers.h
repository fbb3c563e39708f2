// Whom this process calls when a signal comes. Libraries that put handlers of their own there as they are loaded take
// them from whoever tells people what crashed; this puts them back.
#pragma once

#include <array>
#include <csignal>

namespace dlhost::plugin {

class SignalHandlers {
 public:
  // Remembers those of now.
  SignalHandlers();
  // Puts them back; true when one had been changed.
  bool restore() const;

 private:
  std::array<struct sigaction, SIGSYS + 1> handlers_{}; // by their numbers; those of real time are nobody's
};

} // namespace dlhost::plugin
