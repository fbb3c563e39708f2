// The paths of a transport on this machine for `dlhost inspect NAME`: their speeds, and which one would be chosen.
// Asked in a child process, because opening libraries and networks may crash or hang.
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

// The child's work. Returns the exit code.
int ways_child(const std::string& transport, const std::vector<std::string>& settings, cli::Context& context);

} // namespace dlhost::tools
