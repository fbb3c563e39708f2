// Reads the schemas of plugins in child processes, so that a plugin that crashes or hangs while loading costs one line,
// not the list. Does not run a plugin's init: its tables exist without it.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <dlhost/host.h>

namespace dlhost::tools {

// The hidden subcommand that starts the child: `dlhost inspect-child [--try-setup] FILE...`.
inline constexpr const char* child_command = "inspect-child";

// Adds "doc" and "options" to each product of the described plugins that have no problem so far. An error becomes a
// problem of that plugin.
void add_schemas(nlohmann::json& plugins);

// Adds "trial" to each layer that can be set up for some small inputs (trial_setup.h). A layer that crashes gets none.
void add_setups(nlohmann::json& plugins);

// The child's work, with fault handlers installed: one line of JSON for each file. Returns the exit code.
int inspect_child(std::span<const std::string> files, bool tries_setup, Host& host);

} // namespace dlhost::tools
