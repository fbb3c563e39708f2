// Text for people from `dlhost inspect`; the JSON comes from plugin/describe.h and machine.h.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dlhost::tools {

// A line for each product, then refused files with reasons, then the folders.
std::string list_text(const nlohmann::json& catalogue);
// Plugins with every option of every product.
std::string details_text(const nlohmann::json& plugins);
std::string machine_text(const nlohmann::json& machine);

} // namespace dlhost::tools
