// The address ranges of the plugins' code and of the libraries that they brought. The fault handlers find the owner of
// an address here if no call was noted.
#pragma once

#include <cstdint>
#include <span>

#include "plugin/activity.h"

namespace dlhost::plugin {

// The mapped range of one file.
struct Code {
  std::uintptr_t begin = 0, end = 0;
  const Actor* plugin = nullptr; // the plugin of this file, or the plugin that brought it
  const char* file = nullptr;    // "/path/cube.so"; immortal, like the actor
};

// Call before and after loading a plugin: files that are new since the first call belong to the plugin. Until the
// second call, all code that was not there before is the plugin's. Thread: one at a time.
void begin_loading(const Actor* plugin);
void end_loading();

// Async-signal-safe. Null: the address is in no plugin.
const Code* code_at(const void* address) noexcept;
// The first of these addresses (innermost first) that is in a plugin; null: none is.
const void* first_of_plugins(std::span<void* const> frames) noexcept;
// One entry for each file of a plugin or brought by one.
std::span<const Code> code_of_plugins() noexcept;

} // namespace dlhost::plugin
