// Reads the schemas of plugins in child processes, so that a plugin that crashes or hangs when it is loaded costs one
// line and not the whole list. A plugin's init is not run: its tables are there without it.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <dlhost/host.h>

namespace dlhost::tools {

// The hidden subcommand with which this program starts itself: `dlhost inspect-child [--try-setup] FILE...`.
inline constexpr const char* child_command = "inspect-child";

// Adds "doc" and "options" to each product of the described plugins that have no problem so far; what goes wrong with
// one becomes a problem of it.
void add_schemas(nlohmann::json& plugins);

// Adds "trial" to each layer that can be set up for some small inputs (tools/inspect/trial_setup.h). One that crashes
// then has none.
void add_setups(nlohmann::json& plugins);

// What the child does, with fault handlers installed: for each file, one line of JSON. Returns the exit code.
int inspect_child(std::span<const std::string> files, bool tries_setup, Host& host);

} // namespace dlhost::tools
