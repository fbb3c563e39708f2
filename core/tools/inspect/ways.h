// What `dlhost inspect NAME` says of a transport beyond its options: what it could run over on this machine, how fast
// that is, and what would be taken. Asked in a process of its own, as it opens libraries and networks that may crash or
// hang.
//
// Adds to each transport among the products: "ways": [{"name", "is", "places": [], "can", "usable", "chosen", "why",
// "latency_us"?, "gigabytes_per_second"?}]; or "ways_problem".
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/command.h"

namespace dlhost::tools {

inline constexpr const char* ways_command = "inspect-ways";

// `settings`: options of the transport, as KEY=VALUE.
void add_ways(nlohmann::json& plugins, const std::vector<std::string>& settings, cli::Context& context);

// What the process does. Returns the exit code.
int ways_child(const std::string& transport, const std::vector<std::string>& settings, cli::Context& context);

} // namespace dlhost::tools
