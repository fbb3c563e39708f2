// Describes a fault in JSON that this program wrote, for people: the library's text names its own functions.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace dlhost::record {

inline std::string_view json_fault(const nlohmann::json::exception& error) {
  if (error.id < 200) return "it is not JSON; it was cut short, or overwritten";
  if (error.id == 403) return "a value is missing";
  return "a value in it has the wrong type or range";
}

} // namespace dlhost::record
