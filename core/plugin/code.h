// Where the code of each plugin lies, and of the libraries that it brought: whom an address belongs to, for the
// handlers of faults, which ask when nobody noted a call.
#pragma once

#include <cstdint>
#include <span>

#include "plugin/activity.h"

namespace dlhost::plugin {

// What the loader has mapped of one file.
struct Code {
  std::uintptr_t begin = 0, end = 0;
  const Actor* plugin = nullptr; // whose file it is, or who brought it
  const char* file = nullptr;    // "/path/cube.so"; immortal, as the actor is
};

// Before and after a plugin is loaded: what is new between the two is the plugin's. Call it from one task at a time.
void note_host_code();
void note_code_of(const Actor* plugin);

// Async-signal-safe. Null: of no plugin.
const Code* code_at(const void* address) noexcept;
// The first of these addresses, innermost first, that belongs to a plugin; null: none does.
const void* first_of_plugins(std::span<void* const> frames) noexcept;
// Of each file that a plugin brought or is.
std::span<const Code> code_of_plugins() noexcept;

} // namespace dlhost::plugin
